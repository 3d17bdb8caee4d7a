/** Depots that fall out while a striped file is uploaded: replaced, left out, or too many. */

import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { CliProcess, type EdgeProcess, runCli } from '../../fixtures/programs/processes.ts';
import { DepotStage } from '../../fixtures/stages/depot-stage.ts';
import { HeldDepot } from '../../fixtures/stages/held-depot.ts';

const MIB = 1024 * 1024;
/** Shards do not fit into the buffers of connections, so that a depot can take no bytes. */
const BYTES = 30 * MIB + 777;

const stage = await DepotStage.set();
const content = contentOf('with losses', BYTES);
const file = join(stage.folder, 'loss.bin');
await writeFile(file, content);
const edges = await Promise.all(
  ['a', 'b', 'c', 'd', 'spare'].map((name) => stage.start('--depot-dir', join(stage.folder, name))),
);
const [a, b, c, d, spare] = edges as [
  EdgeProcess,
  EdgeProcess,
  EdgeProcess,
  EdgeProcess,
  EdgeProcess,
];
const env = { MILLRACE_STATE: join(stage.folder, 'state') };

// biome-ignore lint/suspicious/noExplicitAny: a document of the command line
type Document = any;

const eventsOf = (text: string): Document[] =>
  text.split('\n').flatMap((line) => (line.startsWith('{') ? JSON.parse(line) : []));
const exnodeAt = (name: string) => join(stage.folder, `${name}.exnode`);
const held = (name: string) => HeldDepot.start(stage, '--depot-dir', join(stage.folder, name));

function uploading(name: string, to: readonly EdgeProcess[], stripe: string): string[] {
  const at = to.flatMap(({ url }) => ['--edge', url]);
  const options = ['--stripe', stripe, '--token-file', stage.tokenFile, '-o', exnodeAt(name)];
  return ['upload', file, ...at, ...options, '--retry-for', '2s', '--json'];
}

async function stat(name: string) {
  const { code, stdout } = await runCli(['stat', exnodeAt(name), '--verify', '--json'], env);
  return { code, layout: JSON.parse(stdout) as Document };
}

test('a depot that dies is replaced by one that is spare', async () => {
  const dying = await held('dying');
  const run = new CliProcess(uploading('dead', [a, b, dying.edge, c, spare], '2+2'), env);
  await dying.held;
  dying.close();
  const { code, stdout } = await run.result;
  const events = eventsOf(stdout);
  if (code !== 0) throw new Error(stdout);
  expect(events.filter(({ event }) => event === 'depot-left')).toMatchObject([
    { edge: dying.edge.url },
  ]);
  expect(await stat('dead')).toMatchObject({ code: 0, layout: { mayFail: 2, missingShards: [] } });
  const text = await readFile(exnodeAt('dead'), 'utf8');
  expect(text).toContain(spare.url);
  const left = await readdir(join(env.MILLRACE_STATE, 'uploads'));
  expect(left.filter((name) => !name.endsWith('.lock'))).toEqual([]);

  // As many depots as there is parity can be trimmed while they are alive.
  const two = ['--edge', a.url, '--edge', b.url];
  const trimmed = await runCli(['trim', exnodeAt('dead'), ...two, '--json'], env);
  expect([trimmed.code, JSON.parse(trimmed.stdout).depots.length]).toEqual([0, 2]);
  expect(await stat('dead')).toMatchObject({ code: 0, layout: { mayFail: 0, missing: [] } });
  const path = join(stage.folder, 'trimmed.bin');
  const got = await runCli(['get', exnodeAt('dead'), '-o', path], env);
  expect([got.code, got.code === 0 ? '' : got.stderr]).toEqual([0, '']);
  expect(sha256(await readFile(path))).toBe(sha256(content));
});

test('a depot that takes no bytes holds up no other, and is left out with a warning', async () => {
  const stuck = await held('stuck');
  try {
    const args = uploading('stuck', [a, b, stuck.edge, c], '2+2');
    const { code, stdout } = await runCli(args, env);
    const events = eventsOf(stdout);
    expect([code, events.at(-1)]).toMatchObject([3, { event: 'done', sha256: sha256(content) }]);
    const lacking = events.filter(({ event }) => event === 'shards-missing');
    expect(lacking).toMatchObject([{ edge: stuck.edge.url, code: 'origin-timeout', mayFail: 1 }]);
    const before = await stat('stuck');
    expect(before).toMatchObject({ code: 0, layout: { mayFail: 1, missing: [] } });
    expect(before.layout.missingShards.length).toBeGreaterThan(0);
    // It is repaired as any other file that has lost shards.
    const to = ['--edge', d.url, '--token-file', stage.tokenFile];
    const augmented = await runCli(['augment', exnodeAt('stuck'), ...to, '--json'], env);
    if (augmented.code !== 0) throw new Error(augmented.stdout);
    expect(await stat('stuck')).toMatchObject({
      code: 0,
      layout: { mayFail: 2, missingShards: [] },
    });
    const path = join(stage.folder, 'stuck.bin');
    expect((await runCli(['get', exnodeAt('stuck'), '-o', path], env)).code).toBe(0);
    expect(sha256(await readFile(path))).toBe(sha256(content));
  } finally {
    stuck.close();
  }
});

test('an upload that was killed goes on without a depot that is away, if no other is named', async () => {
  const gone = await held('gone');
  const args = uploading('gone', [a, b, gone.edge, c], '2+2');
  const killed = new CliProcess(args, env);
  await gone.held;
  killed.child.kill('SIGKILL');
  await killed.result;
  gone.close();
  const { code, stdout } = await runCli(args, env);
  const events = eventsOf(stdout);
  expect([code, events.at(-1)]).toMatchObject([3, { event: 'done', sha256: sha256(content) }]);
  expect(events.some(({ event }) => event === 'anew')).toBe(false);
  const lacking = events.filter(({ event }) => event === 'shards-missing');
  expect(lacking).toMatchObject([{ edge: gone.edge.url, mayFail: 1 }]);
  expect(await stat('gone')).toMatchObject({ code: 0, layout: { mayFail: 1, missing: [] } });
  const left = await readdir(join(env.MILLRACE_STATE, 'uploads'));
  expect(left.filter((name) => !name.endsWith('.lock'))).toEqual([]);
});

test('without a depot that may fail the upload ends, and goes on where it was', async () => {
  const stuck = await held('alone');
  try {
    const args = uploading('alone', [a, b, stuck.edge], '2+1');
    const { code, stdout } = await runCli(args, env);
    const last = eventsOf(stdout).at(-1);
    expect([code, last.event]).toEqual([3, 'error']);
    expect(last.message).toContain(stuck.edge.url);
    stuck.open(true);
    const again = await runCli(args, env);
    const events = eventsOf(again.stdout);
    if (again.code !== 0) throw new Error(again.stdout);
    expect(events.some(({ event }) => event === 'anew')).toBe(false);
    expect(events[0].storedBytes).toBeGreaterThan(BYTES / 2);
  } finally {
    stuck.close();
  }
});
