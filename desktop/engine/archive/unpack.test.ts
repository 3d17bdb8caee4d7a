import {
  lstat,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { type Header, pack } from 'tar-stream';
import { openSource } from './open-source.ts';
import { unpack } from './unpack.ts';
import { fill } from './upload-source.ts';

const signal = new AbortController().signal;

let root = '';
let tar = '';
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'millrace-test-'));
  tar = join(root, 'set.tar');
});
afterEach(() => rm(root, { recursive: true }));

/** Writes a tar of a stranger. */
async function write(...entries: readonly (Partial<Header> & { name: string })[]): Promise<void> {
  const packing = pack();
  for (const entry of entries) {
    packing.entry(entry, entry.type === undefined ? entry.name : '');
  }
  packing.finalize();
  await writeFile(tar, await buffer(packing as unknown as AsyncIterable<Uint8Array>));
}

const textOf = (...path: string[]) => readFile(join(root, ...path), 'utf8');

test('a folder that was sent is the same when it is unpacked', async () => {
  const folder = join(root, 'from', 'old name');
  const long = `${'long'.repeat(30)}/ä`;
  await mkdir(join(folder, long), { recursive: true });
  await mkdir(join(folder, 'empty'));
  await writeFile(join(folder, long, 'run.sh'), '#!/bin/sh', { mode: 0o755 });
  await writeFile(join(folder, 'plain'), '');
  const source = await openSource(folder, signal);
  const bytes = Buffer.alloc(source.state.bytes);
  await fill(source, bytes, 0);
  await source.close();
  await writeFile(tar, bytes);
  expect(await unpack(tar, false, signal)).toEqual({
    ...{ folder: join(root, 'set'), files: 2, folders: 4 },
  });
  expect(await textOf('set', long, 'run.sh')).toBe('#!/bin/sh');
  for (const path of ['', 'empty', long, join(long, 'run.sh'), 'plain']) {
    const [before, after] = await Promise.all([
      stat(join(folder, path)),
      stat(join(root, 'set', path)),
    ]);
    const told = [path, Math.floor(before.mtimeMs / 1000), before.mode & 0o100];
    expect([path, after.mtimeMs / 1000, after.mode & 0o100]).toEqual(told);
  }
  expect(await readdir(root)).toEqual(['from', 'set', 'set.tar']);
});

test.each<[string, (Partial<Header> & { name: string })[]]>([
  ['a path that leads out', [{ name: 'a/../../out' }]],
  ['an absolute path', [{ name: '/tmp/out' }]],
  ['a path with a backslash', [{ name: '..\\out' }]],
  ['a link', [{ name: 'a', type: 'symlink', linkname: '/etc' }]],
  ['a hard link', [{ name: 'a' }, { name: 'b', type: 'link', linkname: '../x' }]],
  ['a device', [{ name: 'null', type: 'character-device', devmajor: 1, devminor: 3 }]],
  ['a file twice', [{ name: 'a' }, { name: './a' }]],
  ['files that differ in case', [{ name: 'd/a' }, { name: 'd/A' }]],
  ['a folder spelt in two ways', [{ name: 'd/a' }, { name: 'D/b' }]],
  ['a file in the place of a folder', [{ name: 'd/a' }, { name: 'd' }]],
  ['a folder in the place of a file', [{ name: 'd' }, { name: 'd/a' }]],
  ['a file with holes', [{ name: 'a', pax: { 'GNU.sparse.major': '1' } }]],
])('a tar with %s is refused, and leaves nothing', async (_, bad) => {
  await write({ name: 'good.txt' }, ...bad);
  await expect(unpack(tar, true, signal)).rejects.toMatchObject({ code: 'bad-archive' });
  expect(await readdir(root)).toEqual(['set.tar']);
});

test.each([
  ['cut off', (bytes: Buffer) => bytes.subarray(0, 700)],
  ['no tar', () => Buffer.alloc(5000, 'x')],
  ['damaged', (bytes: Buffer) => Buffer.concat([bytes.subarray(0, 100), bytes.subarray(101)])],
])('a file that is %s is refused, and leaves nothing', async (_, damage) => {
  await write({ name: 'a'.repeat(60) }, { name: 'b' });
  await writeFile(tar, damage(await readFile(tar)));
  await expect(unpack(tar, false, signal)).rejects.toMatchObject({ code: 'bad-archive' });
  expect(await readdir(root)).toEqual(['set.tar']);
});

test('a tar of several things at its top gets a folder of its own', async () => {
  await write({ name: './', type: 'directory' }, { name: './a' }, { name: 'd/b' });
  expect(await unpack(tar, false, signal)).toMatchObject({ files: 2, folders: 2 });
  expect([await textOf('set', 'a'), await textOf('set', 'd/b')]).toEqual(['./a', 'd/b']);
});

test('a folder that exists is kept, or its files are replaced if the user says so', async () => {
  await write({ name: 'x/a' }, { name: 'x/d/b' });
  await mkdir(join(root, 'set', 'd'), { recursive: true });
  await writeFile(join(root, 'set', 'a'), 'old');
  await writeFile(join(root, 'set', 'd', 'c'), 'kept');
  await expect(unpack(tar, false, signal)).rejects.toMatchObject({ code: 'file-exists' });
  expect(await textOf('set', 'a')).toBe('old');
  await unpack(tar, true, signal);
  expect([await textOf('set/a'), await textOf('set/d/b')]).toEqual(['x/a', 'x/d/b']);
  expect(await textOf('set/d/c')).toBe('kept');
});

test('a link in the place of a folder is not followed', async () => {
  await write({ name: 'x/a' }, { name: 'x/d/b' });
  await mkdir(join(root, 'set'));
  await mkdir(join(root, 'away'));
  await symlink('../away', join(root, 'set', 'd'));
  await expect(unpack(tar, true, signal)).rejects.toMatchObject({ code: 'file-exists' });
  expect(await readdir(join(root, 'away'))).toEqual([]);
  expect(await readdir(join(root, 'set'))).toEqual(['d']);
  expect((await lstat(join(root, 'set', 'd'))).isSymbolicLink()).toBe(true);
});

test('an interrupted one leaves nothing', async () => {
  await write({ name: 'a' });
  const unpacking = unpack(tar, false, AbortSignal.abort());
  await expect(unpacking).rejects.toMatchObject({ code: 'interrupted' });
  expect(await readdir(root)).toEqual(['set.tar']);
});

test('files and folders are on the disk before the folder counts as unpacked', async () => {
  await write(
    { name: 'all/one/a.txt' },
    { name: 'all/b.txt' },
    { name: 'all/empty/', type: 'directory' },
  );
  const any = await open(tar);
  const prototype = Object.getPrototypeOf(any);
  await any.close();
  const sync = jest.spyOn(prototype, 'sync');
  try {
    expect(await unpack(tar, false, signal)).toMatchObject({ files: 2, folders: 3 });
    // Two files; the folder, the two in it, again the first, and the one above.
    expect(sync.mock.calls.length).toBe(2 + 5);
    sync.mockRejectedValueOnce(Object.assign(new Error('broken disk'), { code: 'EIO' }));
    await expect(unpack(tar, true, signal)).rejects.toMatchObject({ code: 'file-not-writable' });
  } finally {
    sync.mockRestore();
  }
});
