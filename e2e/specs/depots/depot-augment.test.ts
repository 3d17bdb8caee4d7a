/** Replicas of stored files that are lost, and replaced by `millrace augment`. */

import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { FileServer } from '../../fixtures/origins/file-server.ts';
import { CliProcess, runCli } from '../../fixtures/programs/processes.ts';
import { askDepot, DepotStage } from '../../fixtures/stages/depot-stage.ts';
import { until } from '../../fixtures/until.ts';

const MIB = 1024 * 1024;
const BYTES = 4 * MIB + 12_345;

const stage = await DepotStage.set();
const content = contentOf('to be copied', BYTES);
const file = join(stage.folder, 'talk.bin');
await writeFile(file, content);
const depotDir = (name: string) => ['--depot-dir', join(stage.folder, name)];
// The last one may not pull: what it stores goes through the command.
const [first, second, third] = await Promise.all([
  stage.start(...depotDir('a'), '--allow-origin', '127.0.0.1'),
  stage.start(...depotDir('b'), '--allow-origin', '127.0.0.1'),
  stage.start(...depotDir('c')),
]);
const all = [first, second, third];
const places = await FileServer.start();
afterAll(() => places.stop());
const env = { MILLRACE_STATE: join(stage.folder, 'state') };

/** Returns the options that name depots. @param tokens files with one token for all, or one each */
const at = (edges: readonly { readonly url: string }[], tokens = [stage.tokenFile]) => [
  ...edges.flatMap(({ url }) => ['--edge', url]),
  ...tokens.flatMap((token) => ['--token-file', token]),
  '--json',
];

/** Runs a command. @returns its exit status and its events */
async function running(...args: string[]): Promise<[number | null, Document[]]> {
  const { code, stdout } = await runCli(args, env);
  return [code, stdout.split('\n').flatMap((line) => (line === '' ? [] : JSON.parse(line)))];
}

// biome-ignore lint/suspicious/noExplicitAny: a document of a program, which tests read
type Document = any;

const documentAt = async (path: string): Promise<Document> =>
  JSON.parse(await readFile(path, 'utf8'));

/**
 * Writes an exNode of the file, which gives no right to change anything.
 *
 * @param reads URLs that its replicas are read from
 * @returns its path
 */
async function exnodeWith(name: string, reads: readonly string[]): Promise<string> {
  const path = join(stage.folder, `${name}.exnode`);
  expect((await running('upload', file, ...at([first]), '-o', path))[0]).toBe(0);
  const document = await documentAt(path);
  document.extents[0].shards = [reads.map((read) => ({ read }))];
  await writeFile(path, JSON.stringify({ ...document, documents: undefined }));
  return path;
}

/** State of the pull of the first replica that was begun. */
const pullOf = async (begun: Document) =>
  begun === undefined ? undefined : (await askDepot('GET', begun[0].manage)).body.pull;

/** Digest of what a link serves. */
const digestOf = async (read: string) =>
  sha256(Buffer.from(await (await fetch(read)).arrayBuffer()));

test('a source with wrong bytes is found out, counts as lost, and is copied to no depot', async () => {
  const damage = (bytes: Buffer) => bytes.map((byte) => byte ^ 1) as Buffer;
  const lying = places.add('/lying.bin', { body: content, damage });
  // Another server by its name: replicas at one count once.
  const right = places.add('/right.bin', { body: content }).replace('127.0.0.1', 'localhost');
  const exnode = await exnodeWith('lying', [lying, right]);
  const before = await readFile(exnode, 'utf8');
  const few = await running('augment', exnode, '--copies', '4', ...at([second]));
  expect(few).toMatchObject([4, [{ code: 'too-few-depots', detail: /1 more is needed/ }]]);
  expect(await readFile(exnode, 'utf8')).toBe(before);
  // The depot that would be the first does not know the user: another one stores its replica.
  const other = join(stage.folder, 'other-token');
  await writeFile(other, 'not-the-token-of-any-owner');
  const depots = at(all, [other, stage.tokenFile, stage.tokenFile]);
  const [code, events] = await running('augment', exnode, '--copies', '3', ...depots);
  const left = events.filter(({ event }) => event === 'depot-left');
  expect(left).toMatchObject([{ edge: first.url, code: 'owner-token-required' }]);
  const wrong = events.filter(({ event }) => event === 'replica-wrong');
  expect([code, wrong]).toMatchObject([0, [{ read: lying, code: 'wrong-digest' }]]);
  const document = await documentAt(exnode);
  const added = document.extents[0].shards[0].slice(2).map(({ read }: Document) => read);
  expect(added.map((read: string) => new URL(read).origin).sort()).toEqual(
    [second.url, third.url].sort(),
  );
  for (const read of added) expect(await digestOf(read)).toBe(sha256(content));
  // The only depot for one more refuses it, which is said in the end; nothing is lost by that.
  const end = await running('augment', exnode, '--copies', '5', ...at([first], [other]));
  expect([end[0], end[1].at(-1).code]).toEqual([4, 'too-few-depots']);
  expect(await documentAt(exnode)).toEqual(document);
  // The attempt with the wrong bytes has left nothing.
  expect(document.begun).toBeUndefined();
  const use = async (edge: typeof second) => (await edge.status()).admission.depotBytes?.use;
  expect([await use(second), await use(third)]).toEqual([BYTES, BYTES]);
});

test('a command that is interrupted or killed loses no capability, and goes on where it stood', async () => {
  let release = () => {};
  const hold = new Promise<void>((resolve) => {
    release = resolve;
  });
  const slow = places.add('/slow.bin', { body: content, hold });
  const exnode = await exnodeWith('slow', [slow]);
  const args = ['augment', exnode, '--copies', '2', ...at([second])];
  const begun = async () => (await documentAt(exnode)).begun;
  const codes: (number | null)[] = [];
  const spaces = new Set<string>();
  for (const signal of ['SIGINT', 'SIGKILL'] as const) {
    const { child, result } = new CliProcess(args, env);
    await until(async () => (await pullOf(await begun()))?.state === 'running');
    child.kill(signal);
    codes.push((await result).code);
    for (const { read } of await begun()) spaces.add(read);
  }
  expect([codes[0], spaces.size]).toEqual([130, 1]);
  release();
  const [code, events] = await running(...args);
  expect([code, events.at(-1)]).toMatchObject([0, { event: 'done', added: 1 }]);
  const [, { read }] = (await documentAt(exnode)).extents[0].shards[0];
  expect([[...spaces], await begun()]).toEqual([[read], undefined]);
  expect(await digestOf(read)).toBe(sha256(content));
});

test('a file goes on without the depot that alone had parts of it, once augment has copied them', async () => {
  const exnode = join(stage.folder, 'parts.exnode');
  expect((await running('upload', file, ...at(all), '--copies', '2', '-o', exnode))[0]).toBe(0);
  const { extents } = await documentAt(exnode);
  // One depot alone has these two extents then.
  const lost: string[] = [];
  for (const { shards } of extents) {
    const [shard] = shards as [Document[]];
    if (!shard.some(({ read }) => read.startsWith(first.url))) continue;
    for (const { read, manage } of shard) {
      if (read.startsWith(first.url)) continue;
      expect((await askDepot('DELETE', manage)).status).toBe(204);
      lost.push(read);
    }
  }
  expect(lost.length).toBe(2);
  const [code, events] = await running('augment', exnode, '--copies', '2', ...at(all));
  expect([code, events.at(-1)]).toMatchObject([0, { event: 'done', added: 2, missing: [] }]);
  // One is pulled, and the other one is fed to the depot that may not pull.
  const fed = events.filter(({ event }) => event === 'fed');
  expect(fed).toMatchObject([{ edge: third.url, code: 'origin-not-allowed' }]);
  expect((await stat(exnode)).mode & 0o777).toBe(0o600);
  const after = await documentAt(exnode);
  expect(after.begun).toBeUndefined();
  const shards = (document: Document): Document[][] =>
    document.extents.map(({ shards: [shard] }: Document) => shard);
  const added = shards(after).flatMap((shard) => shard.slice(2));
  const ends = shards(after)
    .flat()
    .map(({ expires }) => Date.parse(expires));
  expect(added.every(({ manage }) => typeof manage === 'string')).toBe(true);
  expect(Math.max(...ends) - Math.min(...ends)).toBeLessThan(3_600_000);
  // There is nothing to do any more, whatever is still listed.
  const again = await running('augment', exnode, '--copies', '2', ...at(all));
  expect(again).toMatchObject([0, [{ event: 'done', added: 0 }]]);
  await first.stop('SIGKILL');
  const path = join(stage.folder, 'got.bin');
  expect((await runCli(['get', exnode, '-o', path], env)).code).toBe(0);
  expect(sha256(await readFile(path))).toBe(sha256(content));
});
