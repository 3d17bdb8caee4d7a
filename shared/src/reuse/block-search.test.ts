import { createHash } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { type Random, seededRandom } from '../base/clock.ts';
import { BlockSearch, type FoundRun } from './block-search.ts';
import { type ListShape, makeZsync as listOf } from './testing/make-zsync.ts';
import { parseZsync } from './zsync-file.ts';

const BLOCK = 256;

const makeZsync = (file: Buffer, shape: ListShape = {}): Buffer =>
  Buffer.from(listOf(file, createHash('sha1').update(file).digest('hex'), shape));

function drawn(random: Random, bytes: number): Buffer {
  return Buffer.from(Uint8Array.from({ length: bytes }, () => Math.floor(random() * 256)));
}

/** Searches in steps, as a reader of a file does. */
function searched(list: Buffer, older: Buffer, step: number): FoundRun[] {
  const search = new BlockSearch(parseZsync(list));
  const bytes = Buffer.concat([older, Buffer.alloc(search.windowBytes)]);
  for (let base = 0; base < older.length; ) {
    const part = bytes.subarray(base, base + step + search.windowBytes);
    base += search.scan(part, base, 0, Math.min(step, older.length - base));
  }
  return search.runs();
}

const bytesOf = (runs: readonly FoundRun[]) => runs.reduce((sum, { bytes }) => sum + bytes, 0);

function holdRight(runs: readonly FoundRun[], wanted: Buffer, older: Buffer): void {
  const padded = Buffer.concat([older, Buffer.alloc(2 * BLOCK)]);
  for (const { start, from, bytes } of runs) {
    const there = padded.subarray(from, from + bytes);
    expect(there.equals(wanted.subarray(start, start + bytes))).toBe(true);
  }
}

test.each([1, 2, 3, 4, 5, 6])('finds what is left of a file after edits (seed %i)', (seed) => {
  const random = seededRandom(seed);
  const parts = Array.from({ length: 8 }, () => drawn(random, 20 * BLOCK));
  const older = Buffer.concat(parts);
  // Parts in another order, with odd bytes between them, so that nothing is where it was.
  const [a, b, c, , ...rest] = parts as [Buffer, Buffer, Buffer, Buffer];
  const wanted = Buffer.concat([c, drawn(random, 77), a, Buffer.alloc(3 * BLOCK), ...rest, b]);
  const inRow = seed % 2 === 0 ? 1 : 2;
  const list = makeZsync(wanted, { blockBytes: BLOCK, inRow, sumBytes: 2 + (seed % 3) });
  const runs = searched(list, older, 1000 + seed);
  holdRight(runs, wanted, older);
  // Blocks across the seams are new.
  expect(bytesOf(runs)).toBeGreaterThan(wanted.length - 77 - 3 * BLOCK - 16 * 2 * BLOCK);
});

test('finds all of the same file, its shorter last block too', () => {
  const file = drawn(seededRandom(7), 10 * BLOCK + 99);
  const runs = searched(makeZsync(file, { blockBytes: BLOCK }), file, 3000);
  expect(runs).toEqual([{ start: 0, from: 0, bytes: file.length }]);
});

test('gives a block to all that equal it', () => {
  const random = seededRandom(8);
  const [once, twice] = [drawn(random, 4 * BLOCK), drawn(random, 2 * BLOCK)];
  const older = Buffer.concat([twice, once]);
  const wanted = Buffer.concat([twice, once, twice, once, drawn(random, BLOCK), twice]);
  const runs = searched(makeZsync(wanted, { blockBytes: BLOCK }), older, 4000);
  holdRight(runs, wanted, older);
  expect(bytesOf(runs)).toBe(wanted.length - BLOCK);
});

test('finds blocks that begin with zeros after a stretch of zeros', () => {
  const random = seededRandom(9);
  const data = Buffer.concat([Buffer.alloc(100), drawn(random, 6 * BLOCK - 100)]);
  const older = Buffer.concat([Buffer.alloc(9 * BLOCK + 57), data]);
  const wanted = Buffer.concat([Buffer.alloc(8 * BLOCK), data]);
  const runs = searched(makeZsync(wanted, { blockBytes: BLOCK }), older, 5000);
  holdRight(runs, wanted, older);
  expect(bytesOf(runs)).toBe(wanted.length);
});

test('gives up a list whose sums match everywhere and whose digests never do', () => {
  const count = 70_000;
  const blockBytes = 1024;
  const list = makeZsync(Buffer.alloc(blockBytes), {
    blockBytes,
    inRow: 1,
    fields: { Length: `${count * blockBytes}` },
  });
  const wrong = Buffer.concat([
    list.subarray(0, list.length - 7),
    Buffer.concat(Array.from({ length: count }, (_, i) => Buffer.from([0, 0, i, i >> 8, 1, 1, 1]))),
  ]);
  const search = new BlockSearch(parseZsync(wrong));
  const zeros = Buffer.alloc(2 ** 21 + search.windowBytes);
  search.scan(zeros, 0, 0, 2 ** 21);
  expect(search.isOver).toBe(true);
  expect(search.runs()).toEqual([]);
});
