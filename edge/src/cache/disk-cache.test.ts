import {
  copyFile,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  symlink,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { silentLog } from '@millrace/shared/base/log';
import { sha256 } from '../files/chunk.ts';
import { DiskCache } from './disk-cache.ts';
import { recordPath } from './disk-record.ts';
import { INDEX_ENTRY_BYTES } from './weights.ts';

let dir = '';

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'millrace-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const open = (maxBytes = 2 ** 20) => DiskCache.open({ dir, maxBytes, log: silentLog });
const pathOf = (key: string) => join(dir, recordPath(key));

function put(cache: DiskCache, key: string, text: string, meta: object = {}): Promise<void> {
  const data = Buffer.from(text);
  return new Promise((resolve) => cache.put(key, meta, data, () => sha256(data), resolve));
}

/** Reads a record's text; counts the memory that is lent and not given back. */
const loans = { count: 0 };
async function get(cache: DiskCache, key: string, bytes: number): Promise<string | undefined> {
  const record = await cache.get(key, bytes, (length) => {
    loans.count++;
    return { data: Buffer.alloc(length), release: () => loans.count-- };
  });
  if (record === undefined) return undefined;
  expect(record.digest.equals(await sha256(record.buffer.data))).toBe(true);
  record.buffer.release();
  return record.buffer.data.toString();
}

/** Files of records in the folder. */
async function filesOnDisk(): Promise<string[]> {
  const all = await readdir(dir, { recursive: true });
  return all.filter((name) => /^[0-9a-f]{2}.[0-9a-f]{62}$/.test(name));
}

describe('DiskCache', () => {
  afterEach(() => {
    expect(loans.count).toBe(0);
  });

  test('gives back stored data with their description', async () => {
    const cache = await open();
    await put(cache, 'a', 'hello', { more: 1 });
    expect(await get(cache, 'a', 5)).toBe('hello');
    const record = await cache.get('a', 5, (n) => ({ data: Buffer.alloc(n), release() {} }));
    expect(record?.meta).toEqual({ key: 'a', more: 1 });
    expect([cache.count, cache.bytes]).toEqual([1, 4096]);
    expect(await get(cache, 'b', 5)).toBeUndefined();
  });

  test('a record is there from the moment it is put, written or not', async () => {
    const cache = await open();
    const written = put(cache, 'a', 'hello', { more: 1 });
    const early = get(cache, 'a', 5);
    expect([cache.has('a'), cache.count]).toEqual([true, 0]);
    expect(await early).toBe('hello');
    await written;
    expect([cache.has('a'), cache.count]).toEqual([true, 1]);
    expect(await get(cache, 'a', 5)).toBe('hello');
  });

  test('a record that is forgotten, or put again, before it is written does not come back', async () => {
    const cache = await open();
    const writes = [put(cache, 'a', 'hello'), put(cache, 'b', 'first'), put(cache, 'b', 'other')];
    cache.delete('a');
    expect(await get(cache, 'a', 5)).toBeUndefined();
    expect(await get(cache, 'b', 5)).toBe('other');
    await Promise.all(writes);
    expect(await get(cache, 'a', 5)).toBeUndefined();
    expect(await get(cache, 'b', 5)).toBe('other');
    expect(cache.count).toBe(1);
    const after = await open();
    expect([await get(after, 'a', 5), await get(after, 'b', 5)]).toEqual([undefined, 'other']);
  });

  test('a restart finds what an earlier run has stored', async () => {
    const before = await open();
    for (const key of ['a', 'b', 'c']) await put(before, key, `text of ${key}`);
    const after = await open();
    expect([after.count, after.bytes]).toEqual([3, before.bytes]);
    for (const key of ['a', 'b', 'c']) expect(await get(after, key, 9)).toBe(`text of ${key}`);
  });

  test('small records are bounded by the memory that their index takes, and the oldest go', async () => {
    const maxIndexBytes = 5 * INDEX_ENTRY_BYTES;
    const cache = await DiskCache.open({ dir, maxBytes: 2 ** 30, maxIndexBytes, log: silentLog });
    for (let i = 0; i < 12; i++) await put(cache, `key ${i}`, 'tiny');
    await cache.flush();
    expect([cache.count, cache.indexBytes]).toEqual([5, maxIndexBytes]);
    expect(await get(cache, 'key 6', 4)).toBeUndefined();
    expect(await get(cache, 'key 11', 4)).toBe('tiny');
    const again = await DiskCache.open({ dir, maxBytes: 2 ** 30, maxIndexBytes, log: silentLog });
    expect(again.count).toBeLessThanOrEqual(5);
  });

  test('records without data count in the queue of writes by their description', async () => {
    const cache = await open();
    const written = put(cache, 'k'.repeat(8000), '');
    expect(cache.queuedOverheadBytes).toBeGreaterThan(8000);
    await written;
    await cache.flush();
    expect(cache.queuedOverheadBytes).toBe(0);
  });

  test('a record that is stored again replaces the old one', async () => {
    const cache = await open();
    await put(cache, 'a', 'first');
    await put(cache, 'a', 'second');
    expect(await get(cache, 'a', 6)).toBe('second');
    expect(await filesOnDisk()).toHaveLength(1);
    expect(cache.count).toBe(1);
  });

  test('a record may be empty', async () => {
    const cache = await open();
    await put(cache, 'a', '', { pointer: true });
    expect(await get(cache, 'a', 0)).toBe('');
  });

  test('a record that is deleted is gone from the disk as well', async () => {
    const cache = await open();
    await put(cache, 'a', 'hello');
    cache.delete('a');
    cache.delete('never there');
    expect(await get(cache, 'a', 5)).toBeUndefined();
    while ((await filesOnDisk()).length > 0);
    expect((await open()).count).toBe(0);
  });

  test('every single flipped bit of a record is noticed, and the record dropped', async () => {
    const cache = await open(2 ** 30);
    const key = (bit: number) => `key ${String(bit).padStart(5, '0')}`;
    await put(cache, key(0), 'hello');
    const bits = (await readFile(pathOf(key(0)))).length * 8;
    for (let bit = 1; bit < bits; bit++) void put(cache, key(bit), 'hello');
    await cache.flush();
    for (let bit = 0; bit < bits; bit++) {
      const record = await readFile(pathOf(key(bit)));
      record.writeUInt8(record.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      await writeFile(pathOf(key(bit)), record);
    }
    for (let bit = 0; bit < bits; bit++) expect(await get(cache, key(bit), 5)).toBeUndefined();
    expect(cache.stats.damaged).toBe(bits);
    expect(cache.count).toBe(0);
  });

  test('a record that is cut off anywhere, or too long, is never taken for data', async () => {
    const before = await open();
    const key = (bytes: number) => `key ${String(bytes).padStart(5, '0')}`;
    await put(before, key(1), 'hello');
    const { length } = await readFile(pathOf(key(1)));
    for (let bytes = 2; bytes <= length + 1; bytes++) void put(before, key(bytes), 'hello');
    await before.flush();
    for (let bytes = 1; bytes <= length + 1; bytes++) await truncate(pathOf(key(bytes)), bytes);
    const after = await open();
    expect(await get(after, key(length), 5)).toBe('hello');
    for (let bytes = 1; bytes <= length + 1; bytes++) {
      if (bytes !== length) expect(await get(after, key(bytes), 5)).toBeUndefined();
    }
    expect(after.stats.damaged).toBe(length);
  });

  test('a record under the name of another is not found', async () => {
    const cache = await open();
    await put(cache, 'a', 'hello');
    await mkdir(dirname(pathOf('b')), { recursive: true });
    await copyFile(pathOf('a'), pathOf('b'));
    const after = await open();
    expect(await get(after, 'b', 5)).toBeUndefined();
    expect(await get(after, 'a', 5)).toBe('hello');
  });

  test('a record of another length is not found', async () => {
    const cache = await open();
    await put(cache, 'a', 'hello');
    expect(await get(cache, 'a', 4)).toBeUndefined();
    expect(await get(cache, 'a', 6)).toBeUndefined();
  });

  test('a record whose file was removed is missing, which is not damage', async () => {
    const cache = await open();
    await put(cache, 'a', 'hello');
    await rm(pathOf('a'));
    expect(await get(cache, 'a', 5)).toBeUndefined();
    expect(cache.stats.damaged).toBe(0);
    await put(cache, 'a', 'hello');
    expect(await get(cache, 'a', 5)).toBe('hello');
  });

  test('half-written files of a crash are removed, and other files are left alone', async () => {
    await mkdir(join(dir, 'tmp'));
    await writeFile(join(dir, 'tmp', 'half'), 'x');
    await writeFile(join(dir, 'README'), 'x');
    await mkdir(join(dir, 'lost+found'));
    const cache = await open();
    expect(await readdir(join(dir, 'tmp'))).toEqual([]);
    expect(cache.count).toBe(0);
    expect((await readdir(dir)).sort()).toEqual(['README', 'lost+found', 'tmp']);
  });

  test('files that the cache has not written are neither counted nor deleted', async () => {
    const before = await open();
    await put(before, 'a', 'text');
    await mkdir(join(dir, '00'), { recursive: true });
    const others = ['00/readme.txt', `00/${'A'.repeat(62)}`, `00/${'a'.repeat(61)}`];
    for (const file of others) await writeFile(join(dir, file), 'x'.repeat(10_000));
    const link = `00/${'b'.repeat(62)}`;
    await symlink(join(dir, others[0] as string), join(dir, link));
    // A file in the place of a folder.
    await writeFile(join(dir, recordPath('a').startsWith('01') ? '02' : '01'), 'x');
    const after = await open(4096);
    expect([after.count, after.bytes]).toEqual([1, 4096]);
    await put(after, 'b', 'text');
    expect(after.count).toBe(1);
    for (const file of [...others, link])
      expect(await lstat(join(dir, file)).catch(() => 'gone')).not.toBe('gone');
  });

  test('holds no more than its bound, and evicts the least recently used record', async () => {
    const cache = await open(3 * 4096);
    for (const key of ['a', 'b', 'c']) await put(cache, key, 'hello');
    expect(await get(cache, 'a', 5)).toBe('hello');
    await put(cache, 'd', 'hello');
    expect(await get(cache, 'b', 5)).toBeUndefined();
    for (const key of ['a', 'c', 'd']) expect(await get(cache, key, 5)).toBe('hello');
    for (let i = 0; i < 20; i++) await put(cache, `more ${i}`, 'hello');
    expect([cache.count, cache.bytes]).toEqual([3, 3 * 4096]);
    while ((await filesOnDisk()).length > 3);
    expect((await open(3 * 4096)).count).toBe(3);
  });

  test('a smaller bound after a restart evicts the oldest records', async () => {
    const before = await open();
    for (const [age, key] of ['a', 'b', 'c', 'd'].entries()) {
      await put(before, key, 'hello');
      await utimes(pathOf(key), 1000 + age, 1000 + age);
    }
    const after = await open(2 * 4096);
    expect(after.count).toBe(2);
    expect(await get(after, 'b', 5)).toBeUndefined();
    expect(await get(after, 'c', 5)).toBe('hello');
    expect(await get(after, 'd', 5)).toBe('hello');
    while ((await filesOnDisk()).length > 2);
  });

  test('when writing cannot keep up, records are skipped, and memory is given back', async () => {
    const cache = await open(2 ** 30);
    const large = Buffer.alloc(40 * 2 ** 20);
    let done = 0;
    const digest = () => sha256(Buffer.alloc(0));
    cache.put('first', {}, large, digest, () => done++);
    cache.put('second', {}, large, digest, () => done++);
    expect([cache.stats.skipped, done]).toEqual([1, 1]);
    await cache.flush();
    expect([cache.stats.skipped, done, cache.count]).toEqual([1, 2, 1]);
    await put(cache, 'third', 'hello');
    expect(await get(cache, 'third', 5)).toBe('hello');
  });

  test('a disk that cannot be written is logged once, and other records stay', async () => {
    const errors: unknown[] = [];
    const log = { ...silentLog, error: (fields: object) => errors.push(fields) };
    const cache = await DiskCache.open({ dir, maxBytes: 2 ** 20, log });
    await put(cache, 'a', 'hello');
    await rm(join(dir, 'tmp'), { recursive: true });
    await put(cache, 'b', 'hello');
    await put(cache, 'c', 'hello');
    expect([cache.stats.failed, errors.length]).toEqual([2, 1]);
    expect(await get(cache, 'b', 5)).toBeUndefined();
    expect(await get(cache, 'a', 5)).toBe('hello');
  });

  test('a record whose digest cannot be computed is not stored', async () => {
    const cache = await open();
    const digest = () => Promise.reject(new Error('no digest'));
    await new Promise<void>((resolve) => cache.put('a', {}, Buffer.from('x'), digest, resolve));
    expect([cache.stats.failed, cache.count]).toEqual([1, 0]);
  });

  test('a name too long for a record is not stored', async () => {
    const cache = await open();
    await put(cache, 'k'.repeat(70_000), 'hello');
    expect([cache.count, await filesOnDisk()]).toEqual([0, []]);
  });

  test('a folder that cannot be used is an error at the start', async () => {
    await writeFile(join(dir, 'file'), '');
    const options = { dir: join(dir, 'file'), maxBytes: 2 ** 20, log: silentLog };
    await expect(DiskCache.open(options)).rejects.toThrow();
  });
});
