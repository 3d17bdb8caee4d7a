/** Striped files that are encrypted, lose depots, and are repaired. */

import { mkdir, readdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { testSeed } from '@millrace/shared/node/testing/test-seed';
import { seededRandom } from '../../../shared/src/base/clock.ts';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { CliProcess, type EdgeProcess, runCli } from '../../fixtures/programs/processes.ts';
import { DepotStage } from '../../fixtures/stages/depot-stage.ts';
import { HeldDepot } from '../../fixtures/stages/held-depot.ts';

const seed = testSeed('stripe tests');
const random = seededRandom(seed);

const MIB = 1024 * 1024;
const BYTES = 9 * MIB + 54_321;
const NAME = 'pay roll.bin';

const stage = await DepotStage.set();
const content = contentOf(`striped, of seed ${seed}`, BYTES);
const file = join(stage.folder, NAME);
await writeFile(file, content);
const dirs = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => join(stage.folder, name));
const last = await HeldDepot.start(stage, '--depot-dir', dirs[5] as string);
afterAll(() => last.close());
const others = dirs.slice(0, 5).map((dir) => stage.start('--depot-dir', dir));
const edges = [...(await Promise.all(others)), last.edge];
const env = { MILLRACE_STATE: join(stage.folder, 'state') };
const journals = join(env.MILLRACE_STATE, 'uploads');

// biome-ignore lint/suspicious/noExplicitAny: a document of the command line
type Document = any;

const fresh = (name: string) => join(stage.folder, name);
const exnode = fresh('sealed.exnode');
const readJson = async (path: string): Promise<Document> =>
  JSON.parse(await readFile(path, 'utf8'));
const eventsOf = (text: string): Document[] =>
  text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .flatMap((line) => (line.startsWith('{') ? JSON.parse(line) : []));
const shuffled = <T>(all: readonly T[]): T[] =>
  all
    .map((one) => ({ one, rank: random() }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ one }) => one);

const edgeArgs = (to: readonly EdgeProcess[]) => [
  ...to.flatMap(({ url }) => ['--edge', url]),
  ...['--token-file', stage.tokenFile],
];
const uploading = (path: string, to: readonly EdgeProcess[], ...options: string[]) => [
  ...['upload', path, '--encrypt', '--stripe', '4+2', ...edgeArgs(to), '--json', ...options],
];

/** Asks for the layout. @returns exit status, and the document */
async function stat(of: string, ...options: string[]) {
  const { code, stdout } = await runCli(['stat', of, ...options, '--json'], env);
  return { code, layout: JSON.parse(stdout) as Document };
}

/** Downloads a file. @returns exit status, digest, and what is printed */
async function get(from: string, name: string, ...options: string[]) {
  const { code, stdout } = await runCli(
    ['get', from, '-o', fresh(name), '--json', ...options],
    env,
  );
  const bytes = await readFile(fresh(name)).catch(() => Buffer.of());
  return { code, digest: sha256(bytes), stdout };
}

/** Kills an upload while one depot hangs, and the others have bytes of it. @returns its key, hex */
async function interrupted(args: readonly string[]): Promise<string> {
  last.open(false);
  const { child, result } = new CliProcess(args, env);
  await last.held;
  child.kill('SIGKILL');
  await result;
  last.open(true);
  return keyLeft();
}

/** Reads the key of an interrupted upload, hexadecimal. */
async function keyLeft(): Promise<string> {
  const [name = ''] = (await readdir(journals)).filter((one) => one.endsWith('.key'));
  const text = await readFile(join(journals, name), 'utf8');
  return JSON.parse(text.split('\n', 1)[0] as string).key;
}

const keyOf = async (path: string) =>
  Buffer.from((await readJson(path)).key, 'base64url').toString('hex');

test('an encrypted striped upload that is killed goes on with its key', async () => {
  const args = uploading(file, edges, '-o', exnode);
  const earlier = await interrupted(args);
  const { code, stdout } = await runCli(args, env);
  const events = eventsOf(stdout);
  if (code !== 0) throw new Error(stdout);
  expect(events.at(-1)).toMatchObject({ event: 'done', bytes: BYTES, sha256: sha256(content) });
  expect(events.some(({ event }) => event === 'anew')).toBe(false);
  expect(await keyOf(exnode)).toBe(earlier);
  expect((await readdir(journals)).filter((name) => !name.endsWith('.lock'))).toEqual([]);
  const [link = ''] = events.at(-1).links;
  const shared = await (await fetch(link)).text();
  expect(JSON.parse(shared)).toMatchObject({ name: 'encrypted', requires: ['sealed', 'codes'] });
});

test('depots have neither its bytes nor its name', async () => {
  for (const dir of dirs) {
    const entries = await readdir(dir, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile());
    const all = files.map((one) => readFile(join(one.parentPath, one.name)));
    const disk = Buffer.concat(await Promise.all(all));
    // The disk has as much as a shard, so a plain one would be found.
    expect(disk.length).toBeGreaterThan(BYTES / 5);
    expect(disk.includes('encrypted')).toBe(true);
    expect(disk.includes('pay roll')).toBe(false);
    for (let at = 0; at + 32 <= BYTES; at += Math.ceil(BYTES / 200)) {
      expect([at, disk.includes(content.subarray(at, at + 32))]).toEqual([at, false]);
    }
  }
});

test('a folder is stored in the same ways, and its upload goes on after a kill', async () => {
  const folder = fresh('pay rolls');
  await mkdir(join(folder, 'empty'), { recursive: true });
  for (const part of [0, 1, 2]) {
    await writeFile(join(folder, `${part}.bin`), content.subarray(part * MIB, (part + 2) * MIB));
  }
  const to = shuffled(edges.slice(0, 5)).slice(0, 3);
  const upload = async (args: readonly string[]) => {
    const { code, stdout } = await runCli(args, env);
    if (code !== 0) throw new Error(stdout);
    return eventsOf(stdout);
  };
  const sealed = uploading(folder, edges, '-o', fresh('folder-0.exnode'));
  await interrupted(sealed);
  const first = await upload(sealed);
  expect(first.some(({ event }) => event === 'anew')).toBe(false);
  const digests = new Set([first.at(-1).sha256]);
  for (const [i, options] of [
    ['--stripe', '2+1'],
    ['--copies', '2', '--encrypt'],
    ['--copies', '2'],
  ].entries()) {
    const output = ['-o', fresh(`folder-${i + 1}.exnode`), '--json'];
    const events = await upload(['upload', folder, ...edgeArgs(to), ...options, ...output]);
    digests.add(events.at(-1).sha256);
  }
  expect(digests.size).toBe(1);
  for (const i of [0, 1, 2, 3]) {
    const got = await get(fresh(`folder-${i}.exnode`), `rolls-${i}.tar`, '--unpack');
    expect([i, got.code, digests.has(got.digest)]).toEqual([i, 0, true]);
    for (const part of [0, 1, 2]) {
      const bytes = await readFile(join(fresh(`rolls-${i}`), `${part}.bin`));
      expect(sha256(bytes)).toBe(sha256(content.subarray(part * MIB, (part + 2) * MIB)));
    }
  }
});

test('it gets another key once it has changed, by its bytes alone too', async () => {
  const path = fresh('draft.bin');
  const write = async (bytes: Buffer) => {
    await writeFile(path, bytes);
    await utimes(path, 1_700_000_000, 1_700_000_000);
  };
  const draft = content.subarray(0, 5 * MIB);
  await write(draft);
  const args = uploading(path, edges, '-o', fresh('draft.exnode'));
  const earlier = await interrupted(args);
  const other = Buffer.from(draft);
  other.writeUInt8(other.readUInt8(100) ^ 1, 100);
  await write(other);
  const refused = await runCli(args, env);
  expect([refused.code, eventsOf(refused.stdout).at(-1)?.code]).toEqual([6, 'file-has-changed']);
  const { code, stdout } = await runCli(args, env);
  expect([code, eventsOf(stdout).at(-1)?.sha256]).toEqual([0, sha256(other)]);
  expect(await keyOf(fresh('draft.exnode'))).not.toBe(earlier);
});

test('it is right although two depots are dead, and their shards are rebuilt without its key', async () => {
  // Of two depots, drawn freely, both may have nothing but shards of data.
  const { layout } = await stat(exnode, '--check');
  const at = ({ read }: Document) => edges.find(({ url }) => url === new URL(read).origin);
  const shards = shuffled(layout.replicas as Document[]).filter(
    (replica) => replica.shard !== undefined && at(replica) !== undefined,
  );
  const parity = at(shards.find(({ shard }) => shard >= 4));
  const data = at(shards.find((one) => one.shard < 4 && at(one) !== parity));
  const killed = edges.filter((edge) => edge === parity || edge === data);
  const left = shuffled(edges.filter((edge) => !killed.includes(edge)));
  expect(left).toHaveLength(4);
  for (const edge of killed) await edge.stop('SIGKILL');
  const got = await get(exnode, 'two-dead.bin');
  if (got.code !== 0) throw new Error(got.stdout);
  expect(got.digest).toBe(sha256(content));

  const keyless = fresh('keyless.exnode');
  const { key, ...document } = await readJson(exnode);
  expect(key).toEqual(expect.any(String));
  await writeFile(keyless, JSON.stringify(document));
  const before = await stat(keyless, '--check');
  expect([before.code, before.layout]).toMatchObject([3, { mayFail: 0, missing: [] }]);
  const lost = before.layout.missingShards;
  expect(lost.map(({ kind }: Document) => kind)).toEqual(
    expect.arrayContaining(['data', 'parity']),
  );

  // The depots that are left have a shard of each row, so new ones are needed.
  const few = await runCli(['augment', keyless, ...edgeArgs(left), '--json'], env);
  expect([few.code, few.stdout]).toEqual([4, expect.stringContaining('too-few-depots')]);
  const spares = ['g', 'h'].map((name) => stage.start('--depot-dir', fresh(name)));
  const all = [...left, ...(await Promise.all(spares))];
  const { code, stdout } = await runCli(['augment', keyless, ...edgeArgs(all), '--json'], env);
  if (code !== 0) throw new Error(stdout);
  if (eventsOf(stdout).at(-1).added !== lost.length) throw new Error(stdout);
  expect(eventsOf(stdout).at(-1)).toMatchObject({ event: 'done', added: lost.length, missing: [] });
  const after = await stat(keyless, '--verify');
  expect([after.code, after.layout]).toMatchObject([3, { mayFail: 2, missingShards: [] }]);
  const dead = after.layout.replicas.filter(({ state }: Document) => state === 'silent');
  const places = new Set<string>(dead.map(({ read }: Document) => new URL(read).origin));
  const atDead = [...places].flatMap((place) => ['--edge', place]);
  const trimmed = await runCli(['trim', keyless, ...atDead, '--forget'], env);
  expect(trimmed.code).toBe(0);
  expect((await stat(keyless, '--check')).code).toBe(0);

  // The rebuilt shards take part: two others die.
  for (const edge of shuffled(left).slice(0, 2)) await edge.stop('SIGKILL');
  const repaired = { ...(await readJson(keyless)), key };
  await writeFile(fresh('repaired.exnode'), JSON.stringify(repaired));
  const again = await get(fresh('repaired.exnode'), 'repaired.bin');
  if (again.code !== 0) throw new Error(again.stdout);
  expect(again.digest).toBe(sha256(content));
});
