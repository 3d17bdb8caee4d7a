import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type Header, pack } from 'tar-stream';
import { type Feed, unpackEntries } from '../archive/unpack.ts';
import { extract } from './extract.ts';

const GID = '0123456789abcdef';
const { signal } = new AbortController();
const { PATH } = process.env;

let root = '';
let programs = '';
/** Folder of the archives. */
let folder = '';
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'millrace-test-'));
  programs = join(root, 'programs');
  folder = join(root, 'downloads');
  await mkdir(programs);
  await mkdir(folder);
  process.env.PATH = programs;
});
afterEach(async () => {
  process.env.PATH = PATH;
  await rm(root, { recursive: true });
});

/** Installs a decoder that does what the test wants. */
const install = (name: string, lines: string) =>
  writeFile(join(programs, name), `#!/bin/sh\n${lines}\n`, { mode: 0o755 });

/** Lines of a decoder that prints the archive itself. It is a tar, as bsdtar prints one of any archive. */
const PRINT = 'for last; do :; done; /bin/cat "$(printf %s "$last" | /bin/sed "s/^@//")"';

/** Makes a tar of entries, as a stranger may. */
async function tarOf(...entries: readonly (Partial<Header> & { name: string })[]) {
  const packing = pack();
  for (const entry of entries) packing.entry(entry, entry.type === undefined ? entry.name : '');
  packing.finalize();
  return buffer(packing as unknown as AsyncIterable<Uint8Array>);
}

async function extracted(name: string, bytes: Uint8Array): Promise<string | undefined> {
  await writeFile(join(folder, name), bytes);
  return extract(join(folder, name), GID, signal);
}

const textOf = (...path: string[]) => readFile(join(folder, ...path), 'utf8');

test('an archive is extracted into a folder of its own, and a second one into another', async () => {
  await install('bsdtar', PRINT);
  const tar = await tarOf({ name: 'a/b.txt' }, { name: 'c.txt' });
  expect(await extracted('set.zip', tar)).toBe(join(folder, 'set'));
  expect(await extracted('set.zip', tar)).toBe(join(folder, 'set.1'));
  expect(await textOf('set', 'a', 'b.txt')).toBe('a/b.txt');
  expect(await textOf('set.1', 'c.txt')).toBe('c.txt');
  expect((await readdir(folder)).sort()).toEqual(['set', 'set.1', 'set.zip']);
});

test('tars, also compressed ones, need no other program, and a wrong checksum is noticed', async () => {
  const tar = await tarOf({ name: 'a/b.txt' });
  const damaged = gzipSync(tar);
  damaged[damaged.length - 8] = (damaged[damaged.length - 8] as number) ^ 1;
  await extracted('one.tar', tar);
  await extracted('two.tar.gz', gzipSync(tar));
  await extracted('three.tzst', zstdCompressSync(tar));
  await expect(extracted('four.tgz', damaged)).rejects.toMatchObject({ code: 'bad-archive' });
  for (const name of ['one', 'two', 'three']) expect(await textOf(name, 'b.txt')).toBe('a/b.txt');
  expect(await readdir(folder)).not.toContain('four');
});

test.each([
  ['a path that leads out', { name: '../out.txt' }],
  ['an absolute path', { name: '/tmp/millrace-out.txt' }],
  ['a link that leads out', { name: 'link', type: 'symlink', linkname: '../..' } as const],
  ['a hard link', { name: 'hard', type: 'link', linkname: '../../x' } as const],
])('an archive with %s is refused, and nothing of it is left', async (_, entry) => {
  await install('bsdtar', PRINT);
  const tar = await tarOf({ name: 'good.txt' }, entry, { name: 'link/through.txt' });
  for (const name of ['set.tar', 'set.zip']) {
    await expect(extracted(name, tar)).rejects.toMatchObject({ code: 'bad-archive' });
    expect(await readdir(folder)).toEqual([name]);
    await rm(join(folder, name));
  }
  expect(await readdir(root)).toEqual(['downloads', 'programs']);
  expect(existsSync('/tmp/millrace-out.txt')).toBe(false);
});

const inFolder = (path: string) => join(folder, path);

test('links inside of an archive are made, and none of them leads to what lies beside its folder', async () => {
  await mkdir(join(folder, 'secret'));
  const links = (target: string) =>
    tarOf(
      { name: 'set-1/src', type: 'directory' },
      { name: 'set-1/src/a.txt' },
      { name: 'set-1/src/link', type: 'symlink', linkname: target },
      { name: 'set-1/hard', type: 'link', linkname: 'set-1/src/a.txt' },
    );
  await extracted('set.tar', await links('../src/a.txt'));
  expect(await readlink(inFolder('set/src/link'))).toBe('../src/a.txt');
  expect(await textOf('set', 'src', 'link')).toBe('set-1/src/a.txt');
  expect((await stat(inFolder('set/hard'))).ino).toBe((await stat(inFolder('set/src/a.txt'))).ino);
  // Without the folder set-1, this link would lead out.
  await extracted('two.tar', await links('../../secret'));
  expect(await readdir(inFolder('two'))).toEqual(['set-1']);
  await expect(extracted('three.tar', await links('../../../secret'))).rejects.toMatchObject({
    detail: expect.stringContaining('leads out'),
  });
  expect((await readdir(folder)).sort()).toEqual([
    ...['secret', 'set', 'set.tar', 'three.tar', 'two', 'two.tar'],
  ]);
});

test('names of sources that other systems do not have are extracted where they are names', async () => {
  const names = ['xt_MARK.h', 'xt_mark.h', 'aux.c', 'dev\\x2da.mount', 'end.'];
  await extracted('linux.tar', await tarOf(...names.map((name) => ({ name: `linux/${name}` }))));
  expect((await readdir(inFolder('linux'))).sort()).toEqual(names.sort());
});

test('an extraction that a crash ended after its last step is not carried out twice', async () => {
  const tar = await tarOf({ name: 'a.txt' });
  await extracted('set.tar', tar);
  const stage = inFolder(`.${GID}.millrace-unpack`);
  await mkdir(stage);
  const note = { from: join(stage, 'content'), folder: inFolder('set') };
  await writeFile(join(stage, 'placing'), JSON.stringify(note));
  expect(await extracted('set.tar', tar)).toBe(inFolder('set'));
  expect((await readdir(folder)).sort()).toEqual(['set', 'set.tar']);
  // With its content still there, it had not come so far.
  await mkdir(note.from, { recursive: true });
  await writeFile(join(stage, 'placing'), JSON.stringify(note));
  expect(await extracted('set.tar', tar)).toBe(inFolder('set.1'));
});

test('an archive whose program says that it is damaged leaves nothing, and the reason is told', async () => {
  // bsdtar prints all of it as a tar without complaint, and tells of checksums only when it extracts.
  await install('bsdtar', `${PRINT}; [ "$1" = -x ] || exit 0; echo "checksum error" >&2; exit 1`);
  const zip = extracted('set.zip', await tarOf({ name: 'good.txt' }));
  await expect(zip).rejects.toMatchObject({ detail: expect.stringContaining('checksum error') });
  expect(await readdir(folder)).toEqual(['set.zip']);
});

test('an archive with more bytes or files than its bound is refused', async () => {
  const entry = { type: 'file', size: 10, mode: 0, mtimeMs: 0, pax: {} };
  const feed: Feed = async (take) => {
    await take({ ...entry, name: 'a' }, ten());
    await take({ ...entry, name: 'b' }, ten());
  };
  async function* ten() {
    yield Buffer.alloc(10);
  }
  const stage = () => mkdtemp(join(folder, 'stage-'));
  const asked = { feed, path: 'x.zip', folder: join(folder, 'set'), stage, overwrites: false };
  await expect(unpackEntries({ ...asked, maxBytes: 19 }, signal)).rejects.toThrow(/bytes/);
  await expect(unpackEntries({ ...asked, maxMembers: 1 }, signal)).rejects.toThrow(/files/);
  expect(await readdir(folder)).toEqual([]);
  expect((await unpackEntries({ ...asked, maxBytes: 20, maxMembers: 2 }, signal)).files).toBe(2);
});

test('other files are left alone, and an archive that no program can read is kept', async () => {
  expect(await extracted('x.iso', Buffer.from('x'))).toBeUndefined();
  await expect(extracted('x.zip', Buffer.from('x'))).rejects.toMatchObject({
    detail: expect.stringContaining('neither bsdtar nor 7-Zip'),
  });
  expect((await readdir(folder)).sort()).toEqual(['x.iso', 'x.zip']);
});

test('output of 7-Zip is cut by its list, and refused if a checksum, a length or a path is wrong', async () => {
  const list = (path: string, crc: string, size: number) =>
    [
      ['Path = a.txt', 'Folder = -', `Size = ${size}`, `CRC = ${crc}`, ''],
      ['Path = sub', 'Folder = +', 'Size = 0', ''],
      [`Path = ${path}`, 'Folder = -', 'Size = 3', 'CRC = ', ''],
    ]
      .flat()
      .join('\\n');
  const run = async (text: string) => {
    await install('7zz', `case "$1" in l) printf '${text}';; x) printf abcdef;; esac`);
    return extracted('set.7z', Buffer.from('x'));
  };
  for (const wrong of [
    list('sub/b.txt', '352441C3', 3),
    list('sub/b.txt', '352441C2', 4),
    list('sub/b.txt', '', 2),
    list('../b.txt', '352441C2', 3),
  ]) {
    await expect(run(wrong)).rejects.toMatchObject({ code: 'bad-archive' });
    expect(await readdir(folder)).toEqual(['set.7z']);
  }
  await run(list('sub/b.txt', '352441C2', 3));
  expect(await textOf('set', 'a.txt')).toBe('abc');
  expect(await textOf('set', 'sub', 'b.txt')).toBe('def');
});
