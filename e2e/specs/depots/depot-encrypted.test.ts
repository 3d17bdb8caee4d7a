/** Encrypted files in depots: what depots get to see, and what holders of the link get. */

import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { testSeed } from '@millrace/shared/node/testing/test-seed';
import { seededRandom } from '../../../shared/src/base/clock.ts';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { FileServer } from '../../fixtures/origins/file-server.ts';
import { CliProcess, type EdgeProcess, runCli } from '../../fixtures/programs/processes.ts';
import { DepotStage } from '../../fixtures/stages/depot-stage.ts';
import { until } from '../../fixtures/until.ts';

const seed = testSeed('encrypted files');
const random = seededRandom(seed);

const MIB = 1024 * 1024;
const BYTES = 6 * MIB + 12_345;
const NAME = "Kim's salary review.ods";

const stage = await DepotStage.set();
const content = contentOf(`of seed ${seed}`, BYTES);
const file = join(stage.folder, NAME);
await writeFile(file, content);
const dirs = ['a', 'b', 'c'].map((name) => join(stage.folder, name));
const edges = await Promise.all(
  dirs.map((dir) => stage.start('--depot-dir', dir, '--log-level', 'debug')),
);
const [one, two] = edges as [EdgeProcess, EdgeProcess];
const places = await FileServer.start();
afterAll(() => places.stop());
const env = { MILLRACE_STATE: join(stage.folder, 'state') };

// biome-ignore lint/suspicious/noExplicitAny: a document, which tests change
type Document = any;

const eventsIn = (text: string): Document[] =>
  text.split('\n').flatMap((line) => (line.startsWith('{') ? JSON.parse(line) : []));

function uploading(path: string, to: readonly EdgeProcess[], ...options: string[]): string[] {
  const at = to.flatMap(({ url }) => ['--edge', url]);
  return ['upload', path, '--encrypt', ...at, '--token-file', stage.tokenFile, ...options];
}

/** Uploads a file to depots, encrypted. @returns the last event */
async function spread(to: readonly EdgeProcess[], ...options: string[]): Promise<Document> {
  const { code, stdout, stderr } = await runCli(
    [...uploading(file, to), '--json', ...options],
    env,
  );
  if (code !== 0) throw new Error(`${stdout}${stderr}`);
  return eventsIn(stdout).at(-1);
}

const fresh = (name: string) => join(stage.folder, name);
const digestAt = async (path: string) => sha256(await readFile(path));

/** Runs a command. @returns its exit status, and what it prints */
async function run(...args: string[]): Promise<[number | null, string]> {
  const { code, stdout, stderr } = await runCli(args, env);
  return [code, stdout + stderr];
}

/** Writes a changed copy of an exNode. @returns its path */
async function changed(exnode: string, to: string, change: (document: Document) => void) {
  const document = JSON.parse(await readFile(exnode, 'utf8'));
  change(document);
  await writeFile(fresh(to), JSON.stringify(document));
  return fresh(to);
}

const journals = join(env.MILLRACE_STATE, 'uploads');

/** Reads what interrupted uploads have left: the key, and the addresses that manage what they stored. */
async function leftBehind() {
  const names = await readdir(journals).catch(() => []);
  const texts = await Promise.all(
    names
      .filter((name) => /\.(?:key|json)$/.test(name))
      .map((name) => readFile(join(journals, name), 'utf8')),
  );
  const records: Document[] = texts.map((text) => JSON.parse(text.split('\n', 1)[0] as string));
  return {
    key: records.find(({ key }) => key !== undefined)?.key,
    manage: records.flatMap(({ allocated }) => allocated?.manage ?? []),
  };
}

/** Kills an upload while the third depot hangs, and the others have bytes of it. */
async function interrupted(args: readonly string[]) {
  const hanging = edges[2] as EdgeProcess;
  hanging.child.kill('SIGSTOP');
  try {
    const { child, result } = new CliProcess(args, env);
    let text = '';
    child.stdout?.on('data', (data) => {
      text += data;
    });
    const bytes = MIB + random() * MIB;
    await until(() => {
      if (child.exitCode !== null) throw new Error(`it has ended: ${text}`);
      const events = eventsIn(text.slice(0, text.lastIndexOf('\n') + 1));
      return events.some(({ storedBytes = 0 }) => storedBytes > bytes);
    });
    child.kill('SIGKILL');
    await result;
    return await leftBehind();
  } finally {
    hanging.child.kill('SIGCONT');
  }
}

/** Reads all that a depot knows: its disk, its log, its pages. */
async function knownTo(edge: EdgeProcess, dir: string): Promise<Buffer> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const pages = ['status', 'metrics', 'refusals', 'dashboard', ''].map(async (page) =>
    Buffer.from(await (await fetch(`${edge.url}/-/${page}`)).arrayBuffer()),
  );
  return Buffer.concat([
    ...(await Promise.all(files.map((one) => readFile(join(one.parentPath, one.name))))),
    ...(await Promise.all(pages)),
    Buffer.from(files.map(({ name }) => name).join('\n')),
    Buffer.from(edge.log.join('\n')),
  ]);
}

describe('an encrypted file', () => {
  test('leaves no trace of its name, its key and its bytes at a depot', async () => {
    const exnode = fresh('traces.exnode');
    const done = await spread([one, two], '-o', exnode);
    expect(done).toMatchObject({ event: 'done', bytes: BYTES, sha256: sha256(content) });
    expect((await stat(exnode)).mode & 0o777).toBe(0o600);
    const folder = fresh('got');
    await mkdir(folder);
    const got = await run('get', done.links[0], '-d', folder);
    expect([got[0], await digestAt(join(folder, NAME))]).toEqual([0, sha256(content)]);
    const { key, sealed } = JSON.parse(await readFile(exnode, 'utf8'));
    expect(done.links[1]).toMatch(new RegExp(`/encrypted#k\\.${key}$`));
    // Programs that are not of ours get nothing but the ciphertext and its description.
    const shared = await (await fetch(done.exnodes[0])).text();
    expect(JSON.parse(shared)).toMatchObject({ name: 'encrypted', requires: ['sealed'], sealed });
    const response = await fetch(done.wholes[0]);
    expect(response.headers.get('content-type')).toBe('application/octet-stream');
    const body = Buffer.from(await response.arrayBuffer());
    expect(body.length).toBe(BYTES);
    const bodyKey = /-K ([0-9a-f]{64}) /.exec(done.decrypt)?.[1] ?? '';
    const hidden = [
      ...[NAME, "Kim's ", 'salary', key, bodyKey, done.sha256],
      ...[key, bodyKey].map((text, i) => Buffer.from(text, i === 0 ? 'base64url' : 'hex')),
    ];
    for (const [i, edge] of [one, two].entries()) {
      const known = await knownTo(edge, dirs[i] as string);
      // The search itself finds what is there.
      expect(known.includes('encrypted')).toBe(true);
      expect(known.includes(body.subarray(5 * MIB, 5 * MIB + 64))).toBe(true);
      expect(edge.log.length).toBeGreaterThan(1);
      for (const text of hidden) expect([text, known.includes(text)]).toEqual([text, false]);
      for (let at = 0; at + 64 <= BYTES; at += Math.ceil(BYTES / 200)) {
        expect([at, known.includes(content.subarray(at, at + 64))]).toEqual([at, false]);
      }
    }
  });

  test('is decrypted by the line that is printed, with curl and openssl', async () => {
    const { code, stdout, stderr } = await runCli(
      uploading(file, [one], '-o', fresh('line.exnode')),
      env,
    );
    if (code !== 0) throw new Error(stdout + stderr);
    const line = /^ {2}decrypt {2}(.*)$/m.exec(stdout)?.[1] ?? '';
    const cwd = fresh('shell');
    await mkdir(cwd);
    const status = await new Promise((resolve) => {
      execFile('sh', ['-c', line], { cwd }, (error) => resolve(error?.code ?? 0));
    });
    expect([status, await digestAt(join(cwd, NAME))]).toEqual([0, sha256(content)]);
    // It tells wrong bytes, which decryption alone does not.
    const damage = (bytes: Buffer) => bytes.map((byte) => byte ^ 1) as Buffer;
    const { read } = JSON.parse(await readFile(fresh('line.exnode'), 'utf8')).extents[0]
      .shards[0][0];
    const body = Buffer.from(await (await fetch(read)).arrayBuffer());
    const wrong = line.replace(read, places.add('/wrong.bin', { body, damage }));
    const refused = await new Promise((resolve) => {
      execFile('sh', ['-c', wrong], { cwd }, (error) => resolve(error?.code ?? 0));
    });
    expect([wrong === line, refused]).toEqual([false, 1]);
  });

  test('is opened by no other key, before a byte is written', async () => {
    const exnode = fresh('keys.exnode');
    const { links } = await spread([one], '-o', exnode);
    const other = await spread([two], '-o', fresh('other.exnode'));
    const [link = ''] = links;
    const key = (text: string) => /#(.*)/.exec(text)?.[1] ?? '';
    const folder = fresh('closed');
    await mkdir(folder);
    const wrong = [
      link.replace(/#.*/, ''),
      link.slice(0, -1),
      link.slice(0, -20),
      link.replace(key(link), key(other.links[0])),
      link.replace(key(link), `k.${'A'.repeat(43)}`),
    ];
    const [status, text] = await run('get', ...wrong, '-d', folder, '--json');
    expect([status, ...eventsIn(text).map(({ code }) => code)]).toEqual([
      2,
      ...wrong.map(() => 'wrong-key'),
    ]);
    for (const given of wrong.slice(1)) expect(text).not.toContain(key(given));
    // A depot cannot put a file without encryption in its place, nor another one.
    const plain = await changed(exnode, 'plain.exnode', (document) => {
      for (const member of ['sealed', 'requires', 'key']) delete document[member];
    });
    const served = places.add('/plain.exnode', { body: await readFile(plain) });
    const { root } = JSON.parse(await readFile(plain, 'utf8'));
    const others = [key(link), `r.${'0'.repeat(64)}`].map((proof) => `${served}#${proof}`);
    const [, told] = await run('get', ...others, '-d', folder, '--json');
    expect(eventsIn(told).map(({ code }) => code)).toEqual(['bad-exnode', 'bad-exnode']);
    expect(await readdir(folder)).toEqual([]);
    expect((await run('get', `${served}#r.${root}`, '-d', folder))[0]).toBe(0);
  });

  test('is right after kills of upload and download, and although a depot lies', async () => {
    const exnode = fresh('killed.exnode');
    const args = uploading(file, edges, '--copies', '2', '-o', exnode, '--json');
    const { key: earlier } = await interrupted(args);
    const again = await runCli(args, env);
    expect(again.stdout + again.stderr).toContain('"done"');
    expect(eventsIn(again.stdout).some(({ event }) => event === 'anew')).toBe(false);
    const { key } = JSON.parse(await readFile(exnode, 'utf8'));
    expect(Buffer.from(key, 'base64url').toString('hex')).toBe(earlier);
    expect((await readdir(journals)).filter((name) => !name.endsWith('.lock'))).toEqual([]);

    const damage = (bytes: Buffer) => bytes.map((byte) => byte ^ 1) as Buffer;
    const lying = await changed(exnode, 'lies.exnode', ({ extents }) => {
      for (const { shards } of extents) shards[0].sort(() => random() - 0.5);
    });
    const { extents } = JSON.parse(await readFile(lying, 'utf8'));
    const { read } = extents[0].shards[0][0];
    const body = Buffer.from(await (await fetch(read)).arrayBuffer());
    const wrong = places.add('/lies.bin', { body, damage });
    await changed(lying, 'lies.exnode', (document) => {
      document.extents[0].shards[0][0] = { read: wrong };
    });
    const path = fresh('lies.ods');
    const getting = ['get', lying, '-o', path, '--json'];
    const first = new CliProcess([...getting, '--limit', '256K'], env);
    let told = '';
    first.child.stdout?.on('data', (data) => {
      told += data;
    });
    await until(
      () =>
        first.child.exitCode !== null ||
        eventsIn(told.slice(0, told.lastIndexOf('\n') + 1)).some(
          ({ storedBytes = 0 }) => storedBytes > MIB / 4,
        ),
    );
    first.child.kill('SIGKILL');
    await first.result;
    const rest = await runCli(getting, env);
    const events = eventsIn(rest.stdout);
    expect([rest.code, await digestAt(path)]).toEqual([0, sha256(content)]);
    expect(events.find(({ event }) => event === 'start').resumedBytes).toBeGreaterThan(0);
    const alone = await changed(lying, 'alone.exnode', (document) => {
      document.extents[0].shards[0].splice(1);
    });
    const [code] = await run('get', alone, '-o', fresh('alone.ods'));
    expect(code).toBe(7);
    expect(await readdir(stage.folder)).not.toContain('alone.ods');
  });

  test('gets another key once it has changed, and its first upload is released', async () => {
    const path = fresh('draft.txt');
    await writeFile(path, content.subarray(0, 2 * MIB));
    const args = uploading(path, edges, '-o', fresh('draft.exnode'), '--json');
    const before = await interrupted(args);
    expect(before.manage.length).toBeGreaterThan(0);
    await writeFile(path, content.subarray(1, 2 * MIB + 1));
    await utimes(path, 1_700_000_000, 1_700_000_000);
    const { code, stdout } = await runCli(args, env);
    expect([code, eventsIn(stdout).some(({ event }) => event === 'anew')]).toEqual([0, true]);
    const { key } = JSON.parse(await readFile(fresh('draft.exnode'), 'utf8'));
    expect(Buffer.from(key, 'base64url').toString('hex')).not.toBe(before.key);
    for (const manage of before.manage) expect((await fetch(manage)).status).toBe(404);
  });

  test('gets another key also if its change can be told by its bytes only', async () => {
    const path = fresh('quiet.txt');
    const exnode = fresh('quiet.exnode');
    const write = async (bytes: Buffer) => {
      await writeFile(path, bytes);
      await utimes(path, 1_700_000_000, 1_700_000_000);
    };
    await write(content.subarray(0, 2 * MIB));
    const args = uploading(path, edges, '-o', exnode, '--json');
    const { key: earlier } = await interrupted(args);
    const other = Buffer.from(content.subarray(0, 2 * MIB));
    other.writeUInt8(other.readUInt8(100) ^ 1, 100);
    await write(other);
    const refused = await runCli(args, env);
    expect([refused.code, eventsIn(refused.stdout).at(-1)?.code]).toEqual([6, 'file-has-changed']);
    expect((await leftBehind()).key).toBeUndefined();
    const { code, stdout } = await runCli(args, env);
    expect([code, eventsIn(stdout).at(-1)?.sha256]).toEqual([0, sha256(other)]);
    const { key } = JSON.parse(await readFile(exnode, 'utf8'));
    expect(Buffer.from(key, 'base64url').toString('hex')).not.toBe(earlier);
  });

  test('is looked after without its key', async () => {
    const exnode = fresh('kept.exnode');
    const { links } = await spread([one, two], '-o', exnode);
    const { key } = JSON.parse(await readFile(exnode, 'utf8'));
    const [status, text] = await run('stat', links[0].replace(/#.*/, ''), '--verify');
    expect([status, text]).toEqual([0, expect.stringContaining('any 1 of 2 depots')]);
    expect(text).not.toContain(NAME);
    expect((await run('stat', links[0]))[1]).toContain(NAME);
    expect((await run('refresh', exnode, '--for', '10d'))[0]).toBe(0);
    expect(JSON.parse(await readFile(exnode, 'utf8')).key).toBe(key);
    const keyless = await changed(exnode, 'keyless.exnode', (document) => {
      delete document.key;
    });
    const third = ['--edge', edges[2]?.url ?? '', '--token-file', stage.tokenFile];
    const augmented = await run('augment', keyless, '--copies', '3', ...third);
    expect(augmented).toEqual([0, expect.stringContaining('1 replica more')]);
    expect((await run('refresh', keyless, '--for', '20d'))[0]).toBe(0);
    expect((await run('trim', keyless, '--edge', one.url))[0]).toBe(0);
    expect((await run('trim', keyless, '--edge', two.url))[0]).toBe(0);
    // With the key, what the third depot has pulled from the others is the file.
    const whole = await changed(keyless, 'whole.exnode', (document) => {
      document.key = key;
    });
    const path = fresh('kept.ods');
    expect([(await run('get', whole, '-o', path))[0], await digestAt(path)]).toEqual([
      0,
      sha256(content),
    ]);
  });

  test('may be empty', async () => {
    const empty = fresh('empty.txt');
    await writeFile(empty, '');
    const exnode = fresh('empty.exnode');
    expect((await run(...uploading(empty, [one], '-o', exnode)))[0]).toBe(0);
    const folder = fresh('nothing');
    await mkdir(folder);
    expect((await run('get', exnode, '-d', folder))[0]).toBe(0);
    expect((await stat(join(folder, 'empty.txt'))).size).toBe(0);
  });
});
