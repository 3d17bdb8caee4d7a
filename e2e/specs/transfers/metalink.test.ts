/** Metalink documents, written and read by the command line, and torrents of other programs. */

import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { SECOND } from '@millrace/shared/download/signatures/testing/signed';
import * as torrents from '@millrace/shared/download/torrent/testing/torrents';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { FileServer } from '../../fixtures/origins/file-server.ts';
import { runCli, temporaryFolder } from '../../fixtures/programs/processes.ts';

const SIZE = 3_000_000;

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let one: FileServer;
let two: FileServer;

beforeEach(async () => {
  folder = await temporaryFolder();
  [one, two] = await Promise.all([FileServer.start(), FileServer.start()]);
});
afterEach(async () => {
  await Promise.all([one.stop(), two.stop(), folder.remove()]);
});

const path = (name: string) => join(folder.path, name);

/** Makes a metalink of a file with the command line. @returns its path */
async function describe(body: Buffer): Promise<string> {
  await writeFile(path('a.iso'), body);
  const urls = [one.url('/x/a.iso'), two.url('/y/a.iso')].flatMap((url) => ['--url', url]);
  const made = await runCli(['metalink', path('a.iso'), ...urls, '-o', path('a.meta4')]);
  expect(made).toMatchObject({ code: 0 });
  await mkdir(path('out'));
  return path('a.meta4');
}

test('a described file is downloaded from the source that has it, and checked', async () => {
  const body = contentOf('described', SIZE);
  const metalink = await describe(body);
  // The first source now has another file of the same length, which only the digests reveal.
  one.add('/x/a.iso', { body: contentOf('replaced', SIZE) });
  two.add('/y/a.iso', { body });
  const result = await runCli(['get', metalink, '-d', path('out')]);
  expect(result).toMatchObject({ code: 0 });
  expect(sha256(await readFile(path('out/a.iso')))).toBe(sha256(body));
});

test('a signature in a description vouches for the file, and fails a download of other bytes', async () => {
  const body = contentOf('metalink-signed', SIZE);
  const url = one.add('/x/a.iso', { body });
  const state = { MILLRACE_STATE: path('state') };
  const run = (...args: string[]) => runCli(args, state);
  await writeFile(
    path('a.meta4'),
    `<metalink xmlns="urn:ietf:params:xml:ns:metalink"><file name="a.iso"><size>${SIZE}</size>
      <signature mediatype="application/pgp-signature">${SECOND.signature}</signature><url>${url}</url></file></metalink>`,
  );
  await writeFile(path('key.asc'), SECOND.key);
  await mkdir(path('out'));
  const get = (...args: string[]) => run('get', path('a.meta4'), '-d', path('out'), ...args);
  const words = `Signed by Second Publisher (key ${SECOND.fingerprint})`;
  const good = await get('--key', path('key.asc'));
  expect([good.code, good.stdout]).toEqual([0, expect.stringContaining(words)]);
  expect(sha256(await readFile(path('out/a.iso')))).toBe(sha256(body));

  // The same with a key of the user's list, which is only for files of this host.
  const wrong = await run('keys', 'add', path('key.asc'), '--fingerprint', 'ab'.repeat(20));
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining(SECOND.fingerprint)]);
  const options = ['--fingerprint', SECOND.fingerprint, '--for', '127.0.0.1', '--name', 'My Mill'];
  expect(await run('keys', 'add', path('key.asc'), ...options)).toMatchObject({ code: 0 });
  expect((await run('keys')).stdout).toContain(`My Mill: ${SECOND.fingerprint}`);
  const listed = await get('--overwrite');
  expect([listed.code, listed.stdout]).toEqual([0, expect.stringContaining('Signed by My Mill')]);

  const altered = Buffer.from(body);
  altered[SIZE / 2] = (altered[SIZE / 2] as number) ^ 1;
  one.add('/x/a.iso', { body: altered });
  const bad = await get('--overwrite');
  expect([bad.code, bad.stderr]).toEqual([
    5,
    expect.stringContaining('not what its publisher signed'),
  ]);
  expect(sha256(await readFile(path('out/a.iso')))).toBe(sha256(body));

  expect(await run('keys', 'remove', SECOND.fingerprint)).toMatchObject({ code: 0 });
  const unknown = await get('--overwrite', '--json');
  expect(unknown).toMatchObject({ code: 0 });
  expect(unknown.stdout).not.toContain('"vouch"');
});

test('pieces are checked even if the server has no ranges', async () => {
  const body = contentOf('described', SIZE);
  const metalink = await describe(body);
  const text = await readFile(metalink, 'utf8');
  // Only the pieces' digests are left.
  await writeFile(metalink, text.replace(/<hash type="sha-256">[0-9a-f]{64}<\/hash>/, ''));
  const damaged = Buffer.from(body);
  damaged[SIZE / 2] = (damaged[SIZE / 2] as number) ^ 1;
  one.add('/x/a.iso', { body: damaged, noRanges: true });
  const result = await runCli(['get', metalink, '-d', path('out')]);
  expect(result).toMatchObject({ code: 5 });
  expect(result.stderr).toMatch(/pieces with another digest: 1/);
  one.add('/x/a.iso', { body, noRanges: true });
  expect(await runCli(['get', metalink, '-d', path('out')])).toMatchObject({ code: 0 });
  expect(sha256(await readFile(path('out/a.iso')))).toBe(sha256(body));
});

test('a file of another length is not begun', async () => {
  const body = contentOf('described', SIZE);
  const metalink = await describe(body);
  for (const [server, at] of [
    [one, '/x/a.iso'],
    [two, '/y/a.iso'],
  ] as const) {
    server.add(at, { body: body.subarray(1) });
  }
  const result = await runCli(['get', metalink, '-d', path('out')]);
  expect(result).toMatchObject({ code: 7 });
  expect(result.stderr).toMatch(/another file.*2,999,999 bytes instead of 3,000,000/);
});

test('a file that cannot be downloaded does not stop the others', async () => {
  const body = contentOf('second', SIZE);
  two.add('/y/b.iso', { body });
  const files = [`a.iso"><url>${one.url('/x/a.iso')}`, `b.iso"><url>${two.url('/y/b.iso')}`];
  const text = files.map((file) => `<file name="${file}</url></file>`).join('');
  await writeFile(
    path('two.meta4'),
    `<metalink xmlns="urn:ietf:params:xml:ns:metalink">${text}</metalink>`,
  );
  const result = await runCli(['get', path('two.meta4'), '-d', folder.path]);
  expect(result).toMatchObject({ code: 4, stderr: expect.stringContaining('a.iso') });
  expect(sha256(await readFile(path('b.iso')))).toBe(sha256(body));
});

test('a malformed document is refused, with the line at fault', async () => {
  await writeFile(path('b.meta4'), '<metalink xmlns="urn:ietf:params:xml:ns:metalink">\n<file/>');
  const result = await runCli(['get', path('b.meta4'), '-d', folder.path]);
  expect(result.code).toBe(2);
  expect(result.stderr).toMatch(/line 2/);
});

/** Changes one byte of each answer of a server that has it, if it is to lie. */
function damageAt(at: number, lies: () => boolean) {
  return (bytes: Buffer, start: number) => {
    if (at < start || at >= start + bytes.length || !lies()) return bytes;
    const sent = Buffer.from(bytes);
    sent[at - start] = (sent[at - start] as number) ^ 1;
    return sent;
  };
}

test.each([
  ['1', torrents.SINGLE_V1],
  ['2', torrents.SINGLE_V2],
  ['1 and 2', torrents.SINGLE_HYBRID],
])('a wrong piece of a torrent of version %s comes from another web seed', async (_, made) => {
  const body = Buffer.from(torrents.contentOf(9, torrents.ONE_BYTES));
  // The server that is asked for the byte first sends a wrong one from then on.
  let liar: FileServer | undefined;
  const damageOf = (server: FileServer) =>
    damageAt(20_000, () => {
      liar ??= server;
      return liar === server;
    });
  const seeds = [one.url('/x/one.bin'), two.url('/y/')];
  one.add('/x/one.bin', { body, damage: damageOf(one) });
  two.add('/y/one.bin', { body, damage: damageOf(two) });
  await writeFile(path('t.torrent'), torrents.withSeeds(made.document, seeds));
  const result = await runCli(['get', path('t.torrent'), '-d', path('.')]);
  expect(result).toMatchObject({ code: 0 });
  expect(result.stderr + result.stdout).toMatch(
    /do not match their checksum are fetched again: 1$/m,
  );
  expect(sha256(await readFile(path('one.bin')))).toBe(sha256(body));
});

test('a file of several says how many of its bytes share a piece with another file', async () => {
  const seeds = [one.url('/x/')];
  torrents.FILES.forEach(([name, size], place) => {
    const body = Buffer.from(torrents.contentOf(place, size));
    // One byte of a piece that the last file has for itself is wrong at first.
    let sent = 0;
    const damage = damageAt(30_000, () => place === 2 && sent++ === 0);
    one.add(`/x/folder/${encodeURI(name)}`, { body, damage });
  });
  await writeFile(path('t.torrent'), torrents.withSeeds(torrents.SEVERAL_V1.document, seeds));
  const { code, stderr, stdout } = await runCli(['get', path('t.torrent'), '-d', path('.')]);
  expect(code).toBe(0);
  expect(stderr + stdout).toMatch(/do not match their checksum are fetched again: 1$/m);
  const notes = [...(stderr + stdout).matchAll(/(\S+ \S+) of the file are not checked/g)];
  // Of 40000 bytes two pieces of 16384 are its own, of 100 none, of 70000 all from 9052 on.
  expect(notes.map(([, bytes]) => bytes)).toEqual(['7.06 KiB', '100 B', '8.84 KiB']);
  // Once all of them are there, these pieces are checked as well.
  expect(stderr + stdout).toMatch(/16 KiB that share pieces with other files match/);
  for (const [place, [name, size]] of torrents.FILES.entries()) {
    const right = sha256(Buffer.from(torrents.contentOf(place, size)));
    expect(sha256(await readFile(path(`folder/${name}`)))).toBe(right);
  }
});

test('a wrong byte at the border of two files is fetched again, of another web seed first', async () => {
  for (const [server, lies] of [
    [one, true],
    [two, false],
  ] as const) {
    torrents.FILES.forEach(([name, size], place) => {
      const body = Buffer.from(torrents.contentOf(place, size));
      const damage = damageAt(50, () => lies && place === 1);
      server.add(`/s/folder/${encodeURI(name)}`, { body, damage });
    });
  }
  const get = async (dir: string, seeds: readonly string[], ...more: string[]) => {
    const document = torrents.withSeeds(torrents.SEVERAL_V1.document, seeds);
    await writeFile(path('s.torrent'), document);
    const result = await runCli(['get', path('s.torrent'), '-d', path(dir), ...more]);
    return { ...result, text: result.stderr + result.stdout };
  };
  const honest = await get('honest', [one.url('/s/'), two.url('/s/')]);
  expect([honest.code, honest.text]).toEqual([0, expect.stringMatching(/does not match .* again/)]);
  expect(honest.text).toMatch(/that share pieces with other files match/);
  for (const [place, [name, size]] of torrents.FILES.entries()) {
    const right = sha256(Buffer.from(torrents.contentOf(place, size)));
    expect(sha256(await readFile(path(`honest/folder/${name}`)))).toBe(right);
  }
  const lied = await get('lied', [one.url('/s/')]);
  expect([lied.code, lied.text]).toEqual([7, expect.stringMatching(/wrong in at least one/)]);
});

test('a magnet link leads to the torrent that it names, and to no other', async () => {
  const { document, v2 } = torrents.SEVERAL_V2;
  const bodies = torrents.FILES.map(([, size], place) =>
    Buffer.from(torrents.contentOf(place, size)),
  );
  torrents.FILES.forEach(([name], place) => {
    two.add(`/y/folder/${encodeURI(name)}`, { body: bodies[place] as Buffer });
  });
  const xs = encodeURIComponent(one.add('/t.torrent', { body: Buffer.from(document) }));
  const magnet = `magnet:?xt=urn:btmh:1220${v2}&xs=${xs}`;
  const none = await runCli(['get', magnet, '-d', path('.')]);
  expect(none).toMatchObject({ code: 7 });
  expect(none.stderr).toMatch(/names no web server .*torrent client/s);
  const result = await runCli(['get', `${magnet}&ws=${two.url('/y')}`, '-d', path('.')]);
  expect(result).toMatchObject({ code: 0 });
  for (const [place, [name]] of torrents.FILES.entries()) {
    expect(sha256(await readFile(path(`folder/${name}`)))).toBe(sha256(bodies[place] as Buffer));
  }
  one.add('/t.torrent', { body: Buffer.from(torrents.SINGLE_V2.document) });
  const other = await runCli(['get', `${magnet}&ws=${two.url('/y')}`, '-d', path('other')]);
  expect(other).toMatchObject({ code: 5 });
  expect(other.stderr).toContain(v2);
});

test('a document that only its server calls a torrent leads to its files, unless the user names it', async () => {
  const { document } = torrents.SINGLE_V2;
  const body = Buffer.from(torrents.contentOf(9, torrents.ONE_BYTES));
  const seed = one.add('/one.bin', { body });
  const torrent = Buffer.from(torrents.withSeeds(document, [seed]));
  const headers = { 'content-type': 'application/x-bittorrent; charset=binary' };
  const url = one.add('/get?id=7', { body: torrent, headers });
  const get = (...more: string[]) => runCli(['get', ...more, '-d', path('.')]);
  expect(await get(url)).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/describes files/),
  });
  const [name, ...others] = await readdir(path('.'));
  expect(others).toEqual([]);
  expect(sha256(await readFile(path(name as string)))).toBe(sha256(body));

  // A name or a digest by the user shows that the document is wanted.
  const named = one.add('/one.torrent', { body: torrent, headers });
  const digest = `sha-256=${sha256(torrent)}`;
  for (const [wanted, options] of [
    [url, ['-o', 'kept.bin']],
    [url, ['--checksum', digest]],
    [named, ['-o', 'kept.torrent']],
  ] as const) {
    expect((await get(wanted, ...options)).code).toBe(0);
  }
  for (const kept of ['kept.bin', 'get', 'kept.torrent']) {
    expect(sha256(await readFile(path(kept)))).toBe(sha256(torrent));
  }

  // --follow decides whether the document is kept, and whether its files are downloaded.
  for (const [wanted, how, kept] of [
    [url, 'true', ['get', name]],
    [named, 'true', ['one.torrent', name]],
    [named, 'mem', [name]],
    [named, 'false', ['one.torrent']],
  ] as const) {
    const dir = path(`${how}-${kept.length}-${wanted.length}`);
    const result = await runCli(['get', wanted, '--follow', how, '-d', dir]);
    expect([result.code, (await readdir(dir)).sort()]).toEqual([0, [...kept].sort()]);
  }

  // A server may be wrong about a file.
  const wrong = one.add('/wrong.bin', { body, headers });
  expect(await get(wrong)).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/kept as it is/),
  });
  expect(sha256(await readFile(path('wrong.bin')))).toBe(sha256(body));
});
