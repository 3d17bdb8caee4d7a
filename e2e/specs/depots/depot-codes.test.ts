/** Files in coded shards: striped uploads, and downloads although depots are dead. */

import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { testSeed } from '@millrace/shared/node/testing/test-seed';
import { seededRandom } from '../../../shared/src/base/clock.ts';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { CliProcess, type EdgeProcess, runCli } from '../../fixtures/programs/processes.ts';
import { DepotStage } from '../../fixtures/stages/depot-stage.ts';
import { HeldDepot } from '../../fixtures/stages/held-depot.ts';
import { until } from '../../fixtures/until.ts';

const seed = testSeed('code tests');
const random = seededRandom(seed);

const MIB = 1024 * 1024;
const BYTES = 10 * MIB + 12_345;
/**
 * Most that a download takes from six depots: each shard once, and a little twice. On a busy machine
 * any two depots may seem late, and then the parity of the two others comes for what they have.
 */
const MOST_BYTES = 1.1 * (6 / 4) * BYTES;

const stage = await DepotStage.set();
const content = contentOf('in coded shards', BYTES);
const file = join(stage.folder, 'set.bin');
await writeFile(file, content);
const edges = await Promise.all(
  ['a', 'b', 'c', 'd', 'e', 'f'].map((name) =>
    stage.start('--depot-dir', join(stage.folder, name)),
  ),
);
const env = { MILLRACE_STATE: join(stage.folder, 'state') };
const exnode = join(stage.folder, 'set.exnode');

// biome-ignore lint/suspicious/noExplicitAny: a document of the command line
type Document = any;

const uploading = (to: readonly EdgeProcess[], ...options: string[]) => [
  ...['upload', file, ...to.flatMap(({ url }) => ['--edge', url])],
  ...['--token-file', stage.tokenFile, '--json', ...options],
];
const eventsOf = (text: string): Document[] =>
  text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .flatMap((line) => (line === '' ? [] : JSON.parse(line)));

test('a striped file has a shard at each depot, and the command needs as many', async () => {
  const few = await runCli(uploading(edges.slice(1), '--stripe', '4+2'), env);
  expect([few.code, eventsOf(few.stdout).at(-1)]).toMatchObject([
    4,
    { code: 'too-few-depots', detail: expect.stringMatching(/takes 6 depots: 1 more is needed/) },
  ]);
  // Depots would take it for a stalled one.
  const slow = await runCli(uploading(edges, '--stripe', '4+2', '--limit', '100KiB/s'), env);
  expect([slow.code, slow.stderr]).toEqual([2, expect.stringContaining('192 KiB/s for 6 depots')]);
  const limited = uploading(edges, '--stripe', '4+2', '--limit', '50MiB/s', '-o', exnode);
  const { code, stdout } = await runCli(limited, env);
  const done = eventsOf(stdout).at(-1);
  expect([code, done]).toMatchObject([0, { event: 'done', bytes: BYTES, sha256: sha256(content) }]);
  expect((await stat(exnode)).mode & 0o777).toBe(0o600);
  expect(await readdir(join(env.MILLRACE_STATE, 'uploads'))).toEqual([]);
});

test('an upload that is killed while one depot is stuck is finished by the same command', async () => {
  const last = await HeldDepot.start(stage, '--depot-dir', join(stage.folder, 'stuck'));
  try {
    const args = uploading([...edges.slice(1), last.edge], '--stripe', '4+2');
    const path = join(stage.folder, 'resumed.exnode');
    const run = new CliProcess([...args, '-o', path], env);
    await last.held;
    run.child.kill('SIGKILL');
    await run.result;
    last.open(true);
    const { code, stdout } = await runCli([...args, '-o', path], env);
    const [start] = eventsOf(stdout);
    expect([code, start]).toMatchObject([0, { event: 'start' }]);
    expect(await readdir(join(env.MILLRACE_STATE, 'uploads'))).toEqual([]);
    const got = await get(path, 'resumed.bin');
    expect([got.code, got.digest]).toEqual([0, sha256(content)]);
  } finally {
    last.close();
  }
});

/** Copies the exNode, with other members. */
async function changed(name: string, change: (document: Document) => void): Promise<string> {
  const document = JSON.parse(await readFile(exnode, 'utf8'));
  change(document);
  const path = join(stage.folder, `${name}.exnode`);
  await writeFile(path, JSON.stringify(document));
  return path;
}

/** Downloads by an exNode. @returns exit status, digest of the file, and events */
async function get(from: string, name: string, ...options: string[]) {
  const path = join(stage.folder, name);
  const { code, stdout } = await runCli(['get', from, '-o', path, '--json', ...options], env);
  const bytes = await readFile(path).catch(() => Buffer.of());
  return { code, digest: sha256(bytes), events: eventsOf(stdout), stdout };
}

test('a layout says that any two depots may fail, and finds out which shards are wrong', async () => {
  const stated = await runCli(['stat', exnode, '--verify', '--json'], env);
  const layout = JSON.parse(stated.stdout);
  expect([stated.code, layout]).toMatchObject([0, { mayFail: 2, missing: [] }]);
  const all = layout.depots.reduce((sum: number, { bytes }: Document) => sum + bytes, 0);
  expect(all / BYTES).toBeGreaterThan(1.4);
  expect((await runCli(['stat', exnode], env)).stdout).toContain('any 2 of 6 depots');
  // Three depots are not trimmed: with the three others alone, bytes would be lost.
  const three = edges.slice(0, 3).flatMap(({ url }) => ['--edge', url]);
  const trimmed = await runCli(['trim', exnode, ...three, '--json'], env);
  expect([trimmed.code, trimmed.stdout]).toEqual([4, expect.stringContaining('last-replica')]);
  const refreshed = await runCli(['refresh', exnode, '--for', '9d', '--json'], env);
  expect(refreshed.code).toBe(0);
  expect(JSON.parse(refreshed.stdout).depots.length).toBe(6);
});

test('is downloaded from all depots at once', async () => {
  const { code, digest, events } = await get(exnode, 'all.bin');
  expect([code, digest]).toEqual([0, sha256(content)]);
  expect(events.at(-1).receivedBytes).toBeLessThan(MOST_BYTES);
});

test('is complete although parity and data of depots are wrong', async () => {
  // The exNode names another place of a depot's stream, so that its bytes are wrong.
  const lying = await changed('lying', ({ extents }) => {
    const url = extents[0].shards[0][0].read;
    for (const { shards } of extents) {
      for (const [replica] of shards)
        if (replica?.read === url) replica.read = extents[0].shards[1][0].read;
    }
  });
  const { code, digest, events, stdout } = await get(lying, 'lying.bin');
  if (code !== 0) throw new Error(stdout);
  expect([code, digest]).toEqual([0, sha256(content)]);
  expect(events.at(-1).receivedBytes).toBeLessThan(MOST_BYTES);
});

test('is complete although two depots die, before and while it is downloaded; not if three do', async () => {
  const [first, second, third] = edges
    .map((edge) => ({ edge, rank: random() }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ edge }) => edge) as [EdgeProcess, EdgeProcess, EdgeProcess];
  const path = join(stage.folder, 'during.bin');
  const args = ['get', exnode, '-o', path, '--json'];
  const run = new CliProcess([...args, '--limit', '256K'], env);
  let text = '';
  run.child.stdout?.on('data', (data) => {
    text += data;
  });
  await until(() => {
    if (run.child.exitCode !== null) throw new Error(`it has ended: ${text}`);
    return eventsOf(text).some(({ storedBytes = 0 }) => storedBytes > MIB / 4);
  });
  await first.stop('SIGKILL');
  await until(() => {
    if (run.child.exitCode !== null) throw new Error(`it has ended: ${text}`);
    return eventsOf(text).some(({ storedBytes = 0 }) => storedBytes > MIB);
  });
  // The rest is fetched by another process, and from even fewer depots.
  run.child.kill('SIGKILL');
  await run.result;
  await second.stop('SIGKILL');
  const resumed = await get(exnode, 'during.bin');
  expect([resumed.code, resumed.digest]).toEqual([0, sha256(content)]);
  expect(resumed.events.find(({ event }) => event === 'start').resumedBytes).toBeGreaterThan(0);

  const before = await get(exnode, 'before.bin');
  expect([before.code, before.digest]).toEqual([0, sha256(content)]);
  // As much parity comes as it replaces, not a second file.
  expect(before.events.at(-1).receivedBytes).toBeLessThan(1.3 * BYTES);

  await third.stop('SIGKILL');
  const lost = await get(exnode, 'lost.bin', '--retry-for', '1s');
  expect([lost.code, lost.stdout]).toEqual([7, expect.stringContaining('file-lost')]);
  const checked = await runCli(['stat', exnode, '--check', '--json'], env);
  expect([checked.code, JSON.parse(checked.stdout).mayFail]).toEqual([7, 0]);
});
