/** Files that lie in several depots: uploads that write exNodes, and downloads from all places. */

import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, test } from '@jest/globals';
import { seededRandom } from '../../../shared/src/base/clock.ts';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { FileServer } from '../../fixtures/origins/file-server.ts';
import { NAMES_FOR_NODE, named } from '../../fixtures/origins/public-names.ts';
import { CliProcess, type EdgeProcess, runCli } from '../../fixtures/programs/processes.ts';
import { askDepot, DepotStage, owned } from '../../fixtures/stages/depot-stage.ts';
import { until } from '../../fixtures/until.ts';

const seed = Number(process.env.MILLRACE_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
process.stderr.write(`exNode tests: MILLRACE_TEST_SEED=${seed}\n`);
const random = seededRandom(seed);

const MIB = 1024 * 1024;
const BYTES = 8 * MIB + 12_345;

const stage = await DepotStage.set();
const content = contentOf('in several depots', BYTES);
const file = join(stage.folder, 'talk.bin');
await writeFile(file, content);
const edges = await Promise.all(
  ['a', 'b', 'c'].map((name) => stage.start('--depot-dir', join(stage.folder, name))),
);
// No test needs aria2: where it is installed, it reads the Metalink as well.
const hasAria2 = spawnSync('aria2c', ['--version']).status === 0;
if (!hasAria2) process.stderr.write('aria2 is not installed: Millrace alone reads the Metalink\n');
const places = await FileServer.start();
afterAll(() => places.stop());
const env = { MILLRACE_STATE: join(stage.folder, 'state') };

/** Uploads the file to depots. @returns the last event */
async function spread(to: readonly EdgeProcess[], ...options: string[]) {
  return spreadOf(file, to, ...options);
}

/** Uploads a file to depots. @returns the last event */
async function spreadOf(path: string, to: readonly EdgeProcess[], ...options: string[]) {
  const at = to.flatMap(({ url }) => ['--edge', url]);
  const args = ['upload', path, ...at, '--token-file', stage.tokenFile, '--json', ...options];
  const { code, stdout, stderr } = await runCli(args, env);
  if (code !== 0) throw new Error(`${stdout}${stderr}`);
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
}

/** Runs a command about an exNode. @returns its exit status and its document */
async function managing(...args: string[]): Promise<[number | null, Document]> {
  const { code, stdout, stderr } = await runCli([...args, '--json'], env);
  if (!stdout.startsWith('{')) throw new Error(`${args.join(' ')}: ${stdout}${stderr}`);
  return [code, JSON.parse(stdout)];
}

/** Downloads the file of a Metalink with aria2, which knows no exNodes. @returns its digest */
async function runAria2(meta4: string, dir: string): Promise<string> {
  const options = ['--no-conf', '--dir', dir, '--split', '3', '--min-split-size', '1M'];
  await promisify(execFile)('aria2c', [...options, '--file-allocation=none', '-M', meta4]);
  const [name = ''] = await readdir(dir);
  return digestAt(join(dir, name));
}

/** Returns the path of a new name. */
const fresh = (name: string) => join(stage.folder, `${name}.bin`);

async function digestAt(path: string): Promise<string> {
  return sha256(await readFile(path));
}

/** Starts a command whose output is read while it runs. */
function listening(args: readonly string[]) {
  const { child, result } = new CliProcess(args, env);
  let text = '';
  child.stdout?.on('data', (data) => {
    text += data;
  });
  // The last line may still be on its way.
  const lines = () => text.slice(0, text.lastIndexOf('\n') + 1);
  const events = (): Document[] =>
    lines()
      .split('\n')
      .flatMap((line) => (line === '' ? [] : JSON.parse(line)));
  return { child, result, lines, events };
}

// biome-ignore lint/suspicious/noExplicitAny: a document, which tests change
type Document = any;

/** Writes a changed copy of an exNode. @returns its path */
async function changed(exnode: string, to: string, change: (document: Document) => void) {
  const document = JSON.parse(await readFile(exnode, 'utf8'));
  change(document);
  await writeFile(to, JSON.stringify(document));
  return to;
}

describe('a file in several depots', () => {
  test('is stored as a copy at each, and downloaded from all by the link to its exNode', async () => {
    const exnode = join(stage.folder, 'copies.exnode');
    const done = await spread(edges, '-o', exnode);
    expect(done).toMatchObject({ event: 'done', exnode, bytes: BYTES, sha256: sha256(content) });
    expect((await stat(exnode)).mode & 0o777).toBe(0o600);
    for (const whole of done.wholes) {
      const body = Buffer.from(await (await fetch(whole)).arrayBuffer());
      expect(sha256(body)).toBe(sha256(content));
    }
    expect(done.wholes.length).toBe(3);
    const shared = await (await fetch(done.exnodes[2])).text();
    expect(shared).not.toMatch(/manage|\/-\/depot\//);
    expect(await readFile(exnode, 'utf8')).toMatch(/"manage":"http/);
    expect(await readdir(join(env.MILLRACE_STATE, 'uploads'))).toEqual([]);
    const folder = join(stage.folder, 'got');
    await mkdir(folder);
    const { code, stdout } = await runCli(['get', done.links[1], '-d', folder]);
    expect([code, await digestAt(join(folder, 'talk.bin'))]).toEqual([0, sha256(content)]);
    expect(stdout).not.toContain('no longer used');
    // The same command would replace the only list of what is stored.
    await expect(spread(edges, '-o', exnode)).rejects.toThrow('file-exists');
  });

  test('is complete although a depot is killed at any byte, and goes on after its own kill', async () => {
    const own = await Promise.all(
      ['d', 'e', 'f'].map((name) => stage.start('--depot-dir', join(stage.folder, name))),
    );
    const exnode = join(stage.folder, 'parts.exnode');
    const done = await spread(own, '--copies', '2', '-o', exnode);
    expect(done.wholes).toEqual([]);
    const { extents } = JSON.parse(await readFile(exnode, 'utf8'));
    expect(extents.length).toBeGreaterThan(2);
    const path = fresh('parts');
    const args = ['get', exnode, '-o', path, '--json'];
    // Too slow to get to the end before it is killed.
    const first = listening([...args, '--limit', '512K']);
    const stored = (bytes: number) =>
      until(() => {
        if (first.child.exitCode !== null) throw new Error(`it has ended: ${first.lines()}`);
        return first.events().some(({ storedBytes = 0 }) => storedBytes > bytes);
      });
    await stored(random() * MIB);
    await own[Math.floor(random() * own.length)]?.stop('SIGKILL');
    await stored(2 * MIB);
    first.child.kill('SIGKILL');
    await first.result;
    const { code, stdout } = await runCli(args, env);
    const events = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect([code, await digestAt(path)]).toEqual([0, sha256(content)]);
    expect(events.find(({ event }) => event === 'start').resumedBytes).toBeGreaterThan(0);
    expect(events.at(-1).event).toBe('done');
  }, 180_000);

  test('is right although one place sends wrong bytes, which is found out and left', async () => {
    const exnode = join(stage.folder, 'one.exnode');
    await spread(edges.slice(0, 1), '-o', exnode);
    // Its answers keep every rule, and have wrong bytes.
    const damage = (bytes: Buffer) => bytes.map((byte) => byte ^ 1) as Buffer;
    const read = places.add('/lying.bin', { body: content, damage });
    let release = () => {};
    const hold = new Promise<void>((resolve) => {
      release = resolve;
    });
    const good = places.add('/good.bin', { body: content, hold });
    const lying = await changed(exnode, join(stage.folder, 'lying.exnode'), (document) => {
      document.extents[0].shards[0] = [good, read.replace('127.0.0.1', 'localhost')].map((url) => ({
        read: url,
      }));
    });
    const path = fresh('lying');
    const run = listening(['get', lying, '-o', path, '--json', '--connections', '4']);
    // The good place sends half of each answer, until the other one is left.
    await until(() => run.lines().includes('source-left-out'));
    release();
    expect([(await run.result).code, await digestAt(path)]).toEqual([0, sha256(content)]);
    const left = run.events().filter(({ note }) => note === 'source-left-out');
    expect(left.map(({ values }) => [values.source, values.code])).toEqual([
      [new URL(read).host.replace('127.0.0.1', 'localhost'), 'wrong-digest'],
    ]);

    const alone = await changed(lying, join(stage.folder, 'alone.exnode'), (document) => {
      document.extents[0].shards[0].splice(0, 1);
    });
    const wrong = await runCli(['get', alone, '-o', fresh('alone')]);
    expect([wrong.code, wrong.stderr]).toEqual([7, expect.stringContaining('their digest')]);
  });

  test('goes to the other depots when one refuses, unless there are too few of them', async () => {
    const wrong = join(stage.folder, 'wrong-token');
    await writeFile(wrong, 'not-the-token-of-any-owner\n');
    const at = edges.flatMap(({ url }) => ['--edge', url]);
    const tokens = [stage.tokenFile, wrong, stage.tokenFile].flatMap((t) => ['--token-file', t]);
    const args = ['upload', file, ...at, ...tokens];
    const exnode = join(stage.folder, 'refused.exnode');
    const { code, stderr } = await runCli([...args, '--copies', '2', '-o', exnode], env);
    const refusing = edges[1]?.url ?? '';
    expect([code, stderr]).toEqual([0, expect.stringContaining(`${refusing}: `)]);
    const text = await readFile(exnode, 'utf8');
    expect(text).not.toContain(refusing);
    const { extents } = JSON.parse(text);
    expect(extents.map(({ shards }: Document) => shards[0].length)).toEqual(extents.map(() => 2));
    expect((await runCli(['get', exnode, '-o', fresh('refused')])).code).toBe(0);
    expect(await digestAt(fresh('refused'))).toBe(sha256(content));
    const all = await runCli([...args, '-o', join(stage.folder, 'none.exnode')], env);
    expect([all.code, all.stderr]).toEqual([4, expect.stringContaining('token')]);
  });

  test('keeps its capabilities when a command is interrupted, which says so', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    /** Interrupts a command once the silent depot has its request. */
    const interrupt = async (...args: string[]) => {
      const asked = once(silent, 'request');
      const { child, result } = new CliProcess(args, env);
      await asked;
      child.kill('SIGINT');
      const { code, stdout, stderr } = await result;
      expect(stdout + stderr).toMatch(/Interrupted/);
      return code;
    };
    try {
      const token = ['--token-file', stage.tokenFile];
      expect(await interrupt('upload', file, '--edge', url, ...token)).toBe(130);
      const exnode = join(stage.folder, 'silent.exnode');
      await spread(edges.slice(0, 1), '-o', exnode);
      const text = (await readFile(exnode, 'utf8')).replaceAll(edges[0]?.url ?? '', url);
      await writeFile(exnode, text);
      expect(await interrupt('trim', exnode, '--all', '--forget')).toBe(130);
      expect(await readFile(exnode, 'utf8')).toBe(text);
    } finally {
      silent.closeAllConnections();
      silent.close();
    }
  });

  test('may be empty', async () => {
    const empty = join(stage.folder, 'empty.bin');
    await writeFile(empty, '');
    const exnode = join(stage.folder, 'empty.exnode');
    const at = edges.flatMap(({ url }) => ['--edge', url]);
    const args = ['upload', empty, ...at, '--token-file', stage.tokenFile, '-o', exnode];
    expect((await runCli(args, env)).code).toBe(0);
    expect((await runCli(['get', exnode, '-o', fresh('empty2')])).code).toBe(0);
    expect((await stat(fresh('empty2'))).size).toBe(0);
  });

  test('that has bytes at no place is refused with their positions, and so are wrong exNodes', async () => {
    const exnode = join(stage.folder, 'hole.exnode');
    await spread(edges, '--copies', '1', '-o', exnode);
    const hole = await changed(exnode, join(stage.folder, 'less.exnode'), (document) => {
      document.extents.splice(1, 1);
    });
    const [, second] = JSON.parse(await readFile(exnode, 'utf8')).extents;
    const bytes = `bytes ${second.start}-${second.start + second.length - 1}`;
    const lost = await runCli(['get', hole, '-o', fresh('less')]);
    expect([lost.code, lost.stderr]).toEqual([7, expect.stringContaining(bytes)]);
    const root = await changed(exnode, join(stage.folder, 'root.exnode'), (document) => {
      document.size++;
    });
    expect((await runCli(['get', root, '--json'])).stdout).toContain('bad-exnode');
    const login = await runCli(['get', exnode, '--user', 'me:secret', '--json']);
    expect([login.code, login.stdout]).toEqual([2, expect.stringContaining('bad-option')]);
    // From a public server, it must not lead into the user's own network.
    const body = await readFile(exnode);
    const link = named(places.add('/talk.exnode', { body }));
    const names = { ...env, ...NAMES_FOR_NODE };
    const inside = await runCli(['get', link, '-o', fresh('inside'), '--json'], names);
    expect([inside.code, inside.stdout]).toEqual([7, expect.stringContaining('source-refused')]);
  });

  test('is trimmed and augmented: depots get their space back, and other links stay right', async () => {
    const room = () =>
      Promise.all(
        edges.map(async ({ url }) => {
          const { body } = await askDepot('GET', `${url}/-/depot`, owned());
          return [body.bytes, body.count];
        }),
      );
    const digests = (links: readonly string[]) =>
      Promise.all(
        links.map(async (link) => {
          const answer = await fetch(link);
          const body = Buffer.from(await answer.arrayBuffer());
          return answer.ok ? sha256(body) : answer.status;
        }),
      );
    const [a, b, c] = edges.map(({ url }) => url) as [string, string, string];
    const right = sha256(content);
    const before = await room();
    const exnode = join(stage.folder, 'trimmed.exnode');
    // A file of its own: of the other one, an upload that has failed may have left space to be used.
    const own = join(stage.folder, 'own.bin');
    await writeFile(own, content);
    const { wholes } = await spreadOf(own, edges, '-o', exnode);
    const full = await room();
    // Written before a depot of it is gone.
    const meta4 = join(stage.folder, 'own.meta4');
    expect((await runCli(['metalink', exnode, '-o', meta4], env)).code).toBe(0);
    expect(await readFile(meta4, 'utf8')).not.toMatch(/\/-\/depot\//);
    for (const [i, [bytes]] of full.entries()) expect(bytes).toBeLessThan(before[i]?.[0] - BYTES);
    // Nothing is over or wrong.
    const unharmed = await managing('trim', exnode, '--expired', '--damaged');
    expect(unharmed).toMatchObject([0, { removed: 0 }]);
    expect(await room()).toEqual(full);

    expect(await managing('trim', exnode, '--edge', b)).toMatchObject([0, { stale: [] }]);
    const [atA, atB, atC] = await room();
    // Both others keep the file and a copy of the exNode, which has become shorter.
    expect([atA?.[1], atB, atC?.[1]]).toEqual([full[0]?.[1], before[1], full[2]?.[1]]);
    expect(await digests(wholes)).toEqual(
      wholes.map((link: string) => (link.startsWith(b) ? 404 : right)),
    );
    if (hasAria2) expect(await runAria2(meta4, join(stage.folder, 'by-aria2'))).toBe(right);
    expect((await runCli(['get', meta4, '-o', fresh('meta4')], env)).code).toBe(0);
    expect(await digestAt(fresh('meta4'))).toBe(right);
    expect(await managing('stat', exnode, '--check')).toMatchObject([0, { mayFail: 1 }]);
    const to = ['--copies', '3', '--edge', b, '--token-file', stage.tokenFile];
    expect((await runCli(['augment', exnode, ...to], env)).code).toBe(0);
    expect((await managing('stat', exnode, '--verify'))[1]).toMatchObject({ mayFail: 2 });

    // The new replica is the last one after this.
    expect((await managing('trim', exnode, '--edge', a, '--edge', c))[0]).toBe(0);
    expect(await digests(wholes)).toEqual([404, 404, 404]);
    expect((await runCli(['get', exnode, '-o', fresh('of-b')], env)).code).toBe(0);
    expect(await digestAt(fresh('of-b'))).toBe(right);
    const last = await managing('trim', exnode, '--edge', b);
    expect(last).toMatchObject([4, { code: 'last-replica' }]);
    expect(await managing('trim', exnode, '--all')).toMatchObject([0, {}]);
    expect(await room()).toEqual(before);
  });

  test('is managed by its exNode when a depot is lost and when bytes are wrong', async () => {
    const exnode = join(stage.folder, 'managed.exnode');
    const { links } = await spread(edges, '--copies', '2', '-o', exnode);
    const [, , lost] = edges as [EdgeProcess, EdgeProcess, EdgeProcess];
    expect(await managing('stat', exnode)).toMatchObject([0, { mayFail: 1, missing: [] }]);
    expect((await runCli(['stat', links[0]], env)).stdout).toContain('any 1 of 3 depots');
    const lying = await changed(exnode, join(stage.folder, 'wrong.exnode'), (document) => {
      const damage = (bytes: Buffer) => bytes.map((byte) => byte ^ 1) as Buffer;
      document.extents[0].shards[0][0] = {
        read: places.add('/wrong.bin', { body: content, damage }),
      };
    });
    const [status, verified] = await managing('stat', lying, '--verify');
    expect([status, verified.mayFail, verified.missing]).toEqual([3, 0, []]);
    const wrong = verified.replicas.filter((one: Document) => one.state !== 'there');
    expect(wrong).toMatchObject([{ state: 'damaged', code: 'wrong-digest', wrong: { first: 0 } }]);
    await lost.stop('SIGKILL');
    const checked = await managing('stat', exnode, '--check');
    expect(checked).toMatchObject([3, { mayFail: 0, missing: [] }]);
    const silent = checked[1].replicas.filter((one: Document) => one.state === 'silent');
    expect(new Set(silent.map(({ read }: Document) => new URL(read).origin))).toEqual(
      new Set([lost.url]),
    );
    const before = JSON.parse(await readFile(exnode, 'utf8')).extents;
    const refreshed = await managing('refresh', exnode, '--for', '20d');
    expect(refreshed[0]).toBe(3);
    const after = JSON.parse(await readFile(exnode, 'utf8')).extents;
    const ends = (extents: Document) =>
      extents.flatMap(({ shards: [shard] }: Document) =>
        shard.map(({ read, expires }: Document) => [read, Date.parse(expires)]),
      );
    for (const [i, [read, end]] of ends(after).entries()) {
      const [, old] = ends(before)[i];
      if (read.startsWith(lost.url)) expect(end).toBe(old);
      else expect(end - old).toBeGreaterThan(12 * 86_400_000);
    }
    expect((await stat(exnode)).mode & 0o777).toBe(0o600);
    const copy = join(stage.folder, 'given.exnode');
    await writeFile(copy, await (await fetch(links[0])).text());
    expect((await runCli(['refresh', copy, '--json'], env)).stdout).toContain('bad-exnode');
    // Some bytes lie at the lost depot and at this one only.
    const text = await readFile(exnode, 'utf8');
    const last = await managing('trim', exnode, '--edge', edges[0]?.url ?? '');
    expect(last).toMatchObject([4, { code: 'last-replica' }]);
    expect(await readFile(exnode, 'utf8')).toBe(text);
    expect(await managing('trim', exnode, '--edge', lost.url)).toMatchObject([3, { removed: 0 }]);
    const forgotten = await managing('trim', exnode, '--edge', lost.url, '--forget');
    expect(forgotten[0]).toBe(0);
    expect(await readFile(exnode, 'utf8')).not.toContain(lost.url);
    expect(await managing('stat', exnode, '--check')).toMatchObject([0, { missing: [] }]);
    const path = fresh('trimmed');
    expect((await runCli(['get', exnode, '-o', path], env)).code).toBe(0);
    expect(await digestAt(path)).toBe(sha256(content));
    expect((await managing('trim', exnode, '--all'))[0]).toBe(0);
    expect((await fetch(links[0])).status).toBe(404);
  });
});
