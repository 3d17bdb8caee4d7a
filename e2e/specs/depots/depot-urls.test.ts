/** Files that stand at a URL, which depots pull themselves for `millrace upload`. */

import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { FileServer } from '../../fixtures/origins/file-server.ts';
import { CliProcess, runCli } from '../../fixtures/programs/processes.ts';
import { askDepot, DepotStage } from '../../fixtures/stages/depot-stage.ts';
import { until } from '../../fixtures/until.ts';

const MIB = 1024 * 1024;
const content = contentOf('at a URL', 3 * MIB + 4321);
const stage = await DepotStage.set();
const depotDir = (name: string) => ['--depot-dir', join(stage.folder, name)];
// The last one pulls from nowhere: its bytes go through the command.
const [first, second, closed] = await Promise.all([
  stage.start(...depotDir('a'), '--allow-origin', '127.0.0.1'),
  stage.start(...depotDir('b'), '--allow-origin', '127.0.0.1'),
  stage.start(...depotDir('c')),
]);
const places = await FileServer.start();
afterAll(() => places.stop());
const env = { MILLRACE_STATE: join(stage.folder, 'state') };
const uploads = join(env.MILLRACE_STATE, 'uploads');

// biome-ignore lint/suspicious/noExplicitAny: a document of a program, which tests read
type Document = any;

const uploading = (url: string, edges: readonly { readonly url: string }[], ...more: string[]) => [
  ...['upload', url, ...edges.flatMap((edge) => ['--edge', edge.url])],
  ...['--token-file', stage.tokenFile, '--for', '1h', '--json', ...more],
];

/** Runs a command. @returns its exit status and its events */
async function running(args: string[]): Promise<[number | null, Document[], string]> {
  const { code, stdout, stderr } = await runCli(args, env);
  const lines = stdout.split('\n').filter((line) => line !== '');
  return [code, lines.map((line) => JSON.parse(line)), stderr];
}

const digestOf = async (read: string) =>
  sha256(Buffer.from(await (await fetch(read)).arrayBuffer()));
const used = async (edge: typeof first) => (await edge.status()).admission.depotBytes?.use;

test('a depot pulls a file itself, and has it under its name and for the time', async () => {
  const url = places.add('/files/r%20one.iso?x=1', { body: content });
  const [code, events] = await running(uploading(url, [first]));
  const done = events.at(-1);
  expect([code, done]).toMatchObject([0, { event: 'done', bytes: content.length }]);
  expect(done.link).toMatch(/\/r%20one\.iso$/);
  expect(await digestOf(done.link)).toBe(sha256(content));
  expect(Date.parse(done.expires) - Date.now()).toBeGreaterThan(3_000_000);
  expect(await readdir(uploads)).toEqual([]);
});

test('several copies cost the server of the file one, and the exNode gives the file', async () => {
  const url = places.add('/once.bin', { body: content });
  const before = places.sentBytes;
  const exnode = join(stage.folder, 'once.exnode');
  const all = [first, second, closed];
  const [code, events] = await running(uploading(url, all, '--name', 'kept.bin', '-o', exnode));
  const done = events.at(-1);
  expect([code, done]).toMatchObject([0, { event: 'done', sha256: sha256(content) }]);
  // The look at the file takes a byte.
  expect(places.sentBytes - before).toBeLessThanOrEqual(content.length + 1);
  expect(events.filter(({ event }) => event === 'fed')).toMatchObject([{ edge: closed.url }]);
  const origins = done.wholes.map((link: string) => new URL(link).origin);
  expect(origins.sort()).toEqual(all.map((edge) => edge.url).sort());
  for (const link of done.wholes) {
    expect(await digestOf(link)).toBe(sha256(content));
    expect(link).toMatch(/kept\.bin$/);
  }
  const copy = join(stage.folder, 'copy.bin');
  const got = await runCli(['get', done.links[1], '-o', copy, '--quiet'], env);
  expect([got.code, sha256(await readFile(copy))]).toEqual([0, sha256(content)]);
  expect(JSON.parse(await readFile(exnode, 'utf8')).begun).toBeUndefined();
  expect(await readdir(uploads)).toEqual([]);
});

test('a depot that may not pull from there is left to others, and the reason is said if there is none', async () => {
  const url = places.add('/refused.bin', { body: content });
  const exnode = join(stage.folder, 'refused.exnode');
  const before = await used(closed);
  const args = uploading(url, [closed, first], '--copies', '1', '-o', exnode);
  const [code, events] = await running(args);
  expect([code, events.at(-1).event]).toEqual([0, 'done']);
  expect(events.filter(({ event }) => event === 'depot-unable')).toMatchObject([
    { edge: closed.url, code: 'origin-not-allowed' },
  ]);
  const [alone, end] = await running(uploading(url, [closed]));
  expect([alone, end.at(-1).code]).toEqual([4, 'origin-not-allowed']);
  expect(await used(closed)).toBe(before);
});

test('a command that is killed goes on with what its depots have pulled meanwhile', async () => {
  let release = () => {};
  const hold = new Promise<void>((resolve) => {
    release = resolve;
  });
  const url = places.add('/slow.bin', { body: content, hold });
  const exnode = join(stage.folder, 'slow.exnode');
  const args = uploading(url, [first, second], '-o', exnode);
  const before = [await used(first), await used(second)] as [number, number];
  const { child, result } = new CliProcess(args, env);
  // The look of the command is held as well.
  await until(() => places.held > 1);
  child.kill('SIGKILL');
  await result;
  release();
  const [code, events] = await running(args);
  expect([code, events.at(-1).event]).toEqual([0, 'done']);
  const asked = places.requests.filter((req) => req.url === '/slow.bin');
  // A look of each command, and the pull, which has gone on without them.
  expect(asked).toHaveLength(3);
  for (const link of events.at(-1).wholes) expect(await digestOf(link)).toBe(sha256(content));
  const after = [await used(first), await used(second)] as [number, number];
  const more = after.map((bytes, i) => bytes - (before[i] ?? 0));
  // The file, and the copy of the exNode.
  for (const bytes of more) {
    expect(bytes).toBeGreaterThanOrEqual(content.length);
    expect(bytes).toBeLessThan(content.length + 100_000);
  }
});

test('copies that are stored stay when one depot fails, and the same command adds the one that lacks', async () => {
  const url = places.add('/lacking.bin', { body: content });
  const exnode = join(stage.folder, 'lacking.exnode');
  const other = join(stage.folder, 'other-token');
  await writeFile(other, 'not-the-token-of-any-owner');
  const args = uploading(url, [first, second, closed], '-o', exnode);
  const before = (await used(second)) ?? 0;
  const own = ['--token-file', stage.tokenFile];
  const [code, events] = await running([...args, ...own, '--token-file', other]);
  expect([code, events.at(-1).code]).toEqual([4, 'too-few-depots']);
  expect(events.filter(({ event }) => event === 'depot-left')).toMatchObject([
    { edge: closed.url, code: 'owner-token-required' },
  ]);
  const repute = async ({ url: origin }: typeof first) => {
    const [, [listed]] = await running(['depots', '--json']);
    return listed.depots.find((one: Document) => one.origin === origin)?.repute;
  };
  // The computer remembers that one depot has stored a copy, and that one takes nothing of this owner.
  expect([await repute(second), await repute(closed)]).toEqual(['good', 'full']);
  const [again, said] = await running(args);
  expect([again, said.at(-1)]).toMatchObject([0, { event: 'done', sha256: sha256(content) }]);
  for (const link of said.at(-1).wholes) expect(await digestOf(link)).toBe(sha256(content));
  expect(said.at(-1).wholes).toHaveLength(3);
  // A look of each command, and one pull.
  expect(places.requests.filter((req) => req.url === '/lacking.bin')).toHaveLength(3);
  expect(((await used(second)) ?? 0) - before).toBeLessThan(content.length + 100_000);
  expect(await readdir(uploads)).toEqual([]);
});

test('what is not the file that its server states is stored nowhere', async () => {
  const digest = Buffer.from(sha256(contentOf('other', 10)), 'hex').toString('base64');
  const wrong = places.add('/wrong.bin', {
    body: content,
    headers: { 'repr-digest': `sha-256=:${digest}:` },
  });
  const before = [await used(first), await used(second)];
  const [code, events] = await running(
    uploading(wrong, [first, second], '-o', join(stage.folder, 'wrong.exnode')),
  );
  expect([code, events.at(-1).code]).toEqual([5, 'content-mismatch']);
  expect([await used(first), await used(second)]).toEqual(before);
  // A new version is another file, and the earlier space is released.
  let release = () => {};
  const hold = new Promise<void>((resolve) => {
    release = resolve;
  });
  const changing = places.add('/changing.bin', { body: content, hold });
  const { child, result } = new CliProcess(uploading(changing, [first]), env);
  // The look of the command is held as well.
  await until(() => places.held > 1);
  child.kill('SIGKILL');
  await result;
  const newer = contentOf('newer', content.length);
  places.add('/changing.bin', { body: newer });
  const [end, said] = await running(uploading(changing, [first]));
  release();
  expect([end, said.at(-1)]).toMatchObject([0, { event: 'done', sha256: sha256(newer) }]);
  expect(await digestOf(said.at(-1).link)).toBe(sha256(newer));
  expect((await askDepot('DELETE', said.at(-1).manage)).status).toBe(204);
  expect(await used(first)).toBe(before[0]);
});

test('files that cannot be pulled, and options that need a file, are refused with a reason', async () => {
  const url = places.add('/whole.bin', { body: content, noRanges: true });
  const [code, events] = await running(uploading(url, [first]));
  expect([code, events.at(-1)]).toMatchObject([
    2,
    { code: 'bad-option', detail: expect.stringMatching(/sends no ranges/) },
  ]);
  for (const option of [['--encrypt'], ['--stripe', '1+1']]) {
    const [status, , stderr] = await running(uploading(url, [first], ...option));
    expect([status, stderr]).toEqual([2, expect.stringContaining(`${option[0]} needs a file`)]);
  }
  const [gone, end] = await running(uploading(places.url('/nothing.bin'), [first]));
  expect([gone, end.at(-1).code]).toEqual([4, 'origin-not-found']);
  const login = url.replace('//', '//user:word@');
  expect((await running(uploading(login, [first])))[1].at(-1).code).toBe('credentials-in-url');
});
