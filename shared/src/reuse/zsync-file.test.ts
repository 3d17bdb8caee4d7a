import { createHash } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { type ListShape, makeZsync as listOf } from './testing/make-zsync.ts';
import { parseZsync } from './zsync-file.ts';

const makeZsync = (file: Buffer, shape: ListShape = {}): Buffer =>
  Buffer.from(listOf(file, createHash('sha1').update(file).digest('hex'), shape));

const FILE = Buffer.from(
  Array.from({ length: 5000 }, (_, i) => (i * i * 31 + Math.floor(i / 7)) % 251),
);
/** The blocks of that file as zsyncmake 0.6.2 writes them (`-b 1024`). */
const BY_ZSYNCMAKE = '6e7f33189b0d2ded6bc84f251749f6a96f63c346b3fa0811be';

test('reads and makes the blocks of zsyncmake', () => {
  const fields = { 'Hash-Lengths': '2,2,3' };
  const [inRow, sumBytes, md4Bytes] = fields['Hash-Lengths'].split(',').map(Number);
  const made = makeZsync(FILE, { inRow: inRow as 1 | 2, sumBytes, md4Bytes });
  const header = made.subarray(0, made.indexOf('\n\n') + 2);
  expect(made.subarray(header.length).toString('hex')).toBe(BY_ZSYNCMAKE);
  const read = parseZsync(made);
  expect(read).toMatchObject({ length: 5000, blockBytes: 1024, count: 5, inRow, md4Bytes });
  expect(read.digest).toEqual({
    algorithm: 'sha1',
    hex: 'ba85ac9a8ac0f8cd0ee589eac7764f12b2ad8a1c',
  });
});

test('an empty file has no blocks', () => {
  expect(parseZsync(makeZsync(Buffer.alloc(0)))).toMatchObject({ length: 0, count: 0 });
});

test('ignores lines that its maker calls safe, and no others', () => {
  const safe = makeZsync(FILE, { fields: { Safe: 'X-New', 'X-New': 'a' } });
  expect(parseZsync(safe).count).toBe(5);
  const unsafe = makeZsync(FILE, { fields: { 'X-New': 'a' } });
  expect(() => parseZsync(unsafe)).toThrow(expect.objectContaining({ code: 'bad-zsync' }));
});

test.each([
  ['without a digest of the whole', makeZsync(FILE, { fields: { 'SHA-1': undefined } })],
  ['about the inside of a compressed file', makeZsync(FILE, { fields: { 'Z-Map2': '1' } })],
  ['with an odd block size', makeZsync(FILE, { fields: { Blocksize: '1000' } })],
  ['with tiny blocks', makeZsync(FILE, { blockBytes: 16 })],
  ['with short digests', makeZsync(FILE, { md4Bytes: 2 })],
  ['with three blocks in a row', makeZsync(FILE, { fields: { 'Hash-Lengths': '3,2,5' } })],
  ['with more bytes than blocks', Buffer.concat([makeZsync(FILE), Buffer.alloc(1)])],
  ['cut off', makeZsync(FILE).subarray(0, -1)],
  ['of a huge file', makeZsync(FILE, { fields: { Length: '99999999999999' } })],
  ['that says its length twice', Buffer.concat([Buffer.from('Length: 1\n'), makeZsync(FILE)])],
  ['without an end of its header', Buffer.from('zsync: 0.6.2\nLength: 1\n')],
])('refuses a list %s', (_how, list) => {
  expect(() => parseZsync(list)).toThrow(expect.objectContaining({ code: 'bad-zsync' }));
});
