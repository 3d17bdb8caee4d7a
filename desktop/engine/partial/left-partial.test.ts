import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { movePartial, removeJournal, removePartial } from './left-partial.ts';
import { PartialFile } from './partial-file.ts';

const URL_A = 'http://a.example/x.bin';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-test-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function begin(name: string): Promise<PartialFile> {
  const header = { url: URL_A, length: 1000, validators: { etag: '"1"' } };
  const file = await PartialFile.open({ path: join(folder, name), overwrite: false, header });
  await file.store(0, Buffer.alloc(100, 1));
  return file;
}

test('a partial file is deleted with its journal, and nothing else', async () => {
  await (await begin('x.bin')).close();
  await writeFile(join(folder, 'x.bin'), 'complete');
  await removePartial(join(folder, 'x.bin'));
  expect(await readdir(folder)).toEqual(['x.bin']);
});

test('a lock that a killed process left is deleted, and a lock in use is not', async () => {
  const lock = join(folder, 'x.bin.millrace-lock');
  await writeFile(join(folder, 'x.bin'), 'complete');
  await writeFile(lock, `${process.ppid}\n`);
  await removePartial(join(folder, 'x.bin'));
  expect(await readdir(folder)).toHaveLength(2);
  await writeFile(lock, `${2 ** 22 + 1}\n`);
  await removePartial(join(folder, 'x.bin'));
  expect(await readdir(folder)).toEqual(['x.bin']);
});

test('an unfinished rewrite of the journal by a killed process is deleted', async () => {
  await (await begin('x.bin')).close();
  await writeFile(join(folder, 'x.bin.millrace-journal.new'), '{"millrace":');
  await removePartial(join(folder, 'x.bin'));
  expect(await readdir(folder)).toEqual([]);
});

test('a partial file of another URL stays if the call names certain URLs', async () => {
  await (await begin('x.bin')).close();
  const before = await readdir(folder);
  await removePartial(join(folder, 'x.bin'), ['http://b.example/x.bin']);
  expect(await readdir(folder)).toEqual(before);
  await removePartial(join(folder, 'x.bin'), [URL_A]);
  expect(await readdir(folder)).toEqual([]);
});

test('a journal that a crash left beside a complete file is deleted, and nothing else', async () => {
  const path = join(folder, 'x.bin');
  const file = await begin('x.bin');
  await file.store(100, Buffer.alloc(900, 1));
  await file.finish(1000);
  await removeJournal(path, [URL_A]);
  expect(await readdir(folder)).toHaveLength(3);
  await file.settle(false);
  await removeJournal(path, ['http://b.example/x.bin']);
  expect(await readdir(folder)).toHaveLength(2);
  await removeJournal(path, [URL_A]);
  expect(await readdir(folder)).toEqual(['x.bin']);
  const next = await PartialFile.open({
    path,
    overwrite: true,
    header: { url: URL_A, length: 2000, validators: { etag: '"2"' } },
  });
  await next.store(0, Buffer.alloc(100, 1));
  await next.close();
  await removeJournal(path, [URL_A]);
  expect(await readdir(folder)).toHaveLength(3);
});

test('a partial file in use stays', async () => {
  const file = await begin('x.bin');
  const before = await readdir(folder);
  await removePartial(join(folder, 'x.bin'));
  expect(await readdir(folder)).toEqual(before);
  await file.discard();
});

test('nothing happens where there is no partial file', async () => {
  await removePartial(join(folder, 'none', 'x.bin'));
  await movePartial(join(folder, 'none', 'x.bin'), join(folder, 'y.bin'));
  expect(await readdir(folder)).toEqual([]);
});

test('a moved partial file is resumed', async () => {
  await (await begin('x.bin')).close();
  await mkdir(join(folder, 'other'));
  await movePartial(join(folder, 'x.bin'), join(folder, 'other', 'y.bin'));
  expect(await readdir(folder)).toEqual(['other']);
  const file = await begin(join('other', 'y.bin'));
  expect(file.startedOver).toBe(false);
  expect(file.stored.bytes).toBe(100);
  await file.discard();
});

test('a moved partial file replaces no other', async () => {
  await (await begin('x.bin')).close();
  await (await begin('y.bin')).close();
  const before = await readdir(folder);
  const moving = movePartial(join(folder, 'x.bin'), join(folder, 'y.bin'));
  await expect(moving).rejects.toMatchObject({ code: 'file-exists' });
  expect(await readdir(folder)).toEqual(before);
});
