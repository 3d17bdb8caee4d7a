import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { MAX_CHUNK_BYTES, MIN_CHUNK_BYTES } from '../../base/limits.ts';
import { chunkRange, isLegalChunk, isLegalChunkSize, SlicePlan } from './chunk-plan.ts';

const KiB = 1024;
const MiB = 1024 * KiB;
const range = (start: number, bytes: number) => ({ start, end: start + bytes });

const disjoint = fc
  .array(fc.tuple(fc.nat(30), fc.integer({ min: 1, max: 50 })), { minLength: 1, maxLength: 6 })
  .map((gaps) => {
    let at = 0;
    return gaps.map(([gap, bytes]) => {
      const start = at + gap;
      at = start + bytes;
      return { start, end: at };
    });
  });
const inAnyOrder = disjoint.chain((ranges) =>
  fc.shuffledSubarray(ranges, { minLength: ranges.length }),
);

describe('chunk plan', () => {
  test('legal sizes are the powers of two from 64 KiB to 16 MiB', () => {
    const legal: number[] = [];
    for (let exponent = 0; exponent < 53; exponent++) {
      if (isLegalChunkSize(2 ** exponent)) legal.push(2 ** exponent);
      expect(isLegalChunkSize(2 ** exponent + 1)).toBe(false);
      expect(isLegalChunkSize(2 ** exponent - 1)).toBe(false);
    }
    expect(legal).toEqual([64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384].map((k) => k * KiB));
    expect([0, -65536, 65536.5, Number.NaN, Number.POSITIVE_INFINITY].some(isLegalChunkSize)).toBe(
      false,
    );
  });

  test('the last chunk ends with the file', () => {
    expect(chunkRange(0, 100, 250)).toEqual({ start: 0, end: 100 });
    expect(chunkRange(2, 100, 250)).toEqual({ start: 200, end: 250 });
    expect(chunkRange(1, 100, 200)).toEqual({ start: 100, end: 200 });
  });

  test.each<[string, boolean, number, number, number | undefined]>([
    ['the first of a file', true, 0, MiB, 10 * MiB],
    ['one in the middle', true, 3 * MiB, MiB, 10 * MiB],
    ['a full last one', true, 9 * MiB, MiB, 10 * MiB],
    ['one of a file of unknown length', true, 3 * MiB, MiB, undefined],
    ['the tail', true, 10 * MiB, 5, 10 * MiB + 5],
    ['a file shorter than a chunk', true, 0, 5, 5],
    ['a tail with a length of its own', true, 3 * MiB, 64 * KiB, 3 * MiB + 64 * KiB],
    ['a tail longer than smaller chunks', true, 2 * MiB, MiB + 1, 3 * MiB + 1],
    ['a range that may be a tail', true, 10 * MiB, 5, undefined],
    ['one that is not aligned', false, 1, MiB, 10 * MiB],
    ['one that is aligned to half its size', false, 512 * KiB, MiB, 10 * MiB],
    ['one of another size', false, 0, 100_000, 10 * MiB],
    ['one that is too small', false, 0, 32 * KiB, 10 * MiB],
    ['one that is too large', false, 0, 32 * MiB, 100 * MiB],
    ['one past the end', false, 10 * MiB, MiB, 10 * MiB],
    ['one that reaches past the end', false, 9 * MiB, MiB, 9 * MiB + 5],
    ['a tail that stops short', false, 10 * MiB, 5, 10 * MiB + 6],
    ['a tail that is not aligned', false, 10 * MiB + 1, 4, 10 * MiB + 5],
    ['a tail as long as the largest chunk or longer', false, 0, 17 * MiB, 17 * MiB],
    [
      'a tail longer than the size that its start is aligned to',
      false,
      64 * KiB,
      65 * KiB,
      129 * KiB,
    ],
  ])('%s may be asked for: %s', (_, legal, start, bytes, fileBytes) => {
    expect(isLegalChunk(range(start, bytes), fileBytes)).toBe(legal);
  });

  test('every chunk of every file is legal, with and without the length known', () => {
    const size = fc.integer({ min: 16, max: 24 }).map((exponent) => 2 ** exponent);
    const file = fc.integer({ min: 1, max: 2 ** 40 });
    fc.assert(
      fc.property(size, file, fc.nat(), (chunkBytes, fileBytes, n) => {
        const index = n % Math.ceil(fileBytes / chunkBytes);
        const chunk = chunkRange(index, chunkBytes, fileBytes);
        expect(isLegalChunk(chunk, fileBytes)).toBe(true);
        expect(isLegalChunk(chunk)).toBe(true);
      }),
    );
  });

  test('a legal chunk of a known file is a chunk of some legal size', () => {
    const near = (around: number) => fc.integer({ min: -2, max: 2 }).map((d) => around + d);
    const edge = fc.oneof(
      fc.nat(40 * MiB),
      fc.nat(640).chain((k) => near(k * MIN_CHUNK_BYTES)),
    );
    const positive = (n: number) => n >= 0;
    const triple = fc.tuple(edge.filter(positive), edge.filter(positive), edge.filter(positive));
    fc.assert(
      fc.property(triple, (numbers) => {
        const [start, end, fileBytes] = numbers.sort((a, b) => a - b);
        if (start === undefined || end === undefined || start === end) return;
        let found = false;
        for (let size = MIN_CHUNK_BYTES; size <= MAX_CHUNK_BYTES; size *= 2) {
          const chunk = chunkRange(start / size, size, fileBytes as number);
          found ||= start % size === 0 && chunk.end === end;
        }
        expect(isLegalChunk({ start, end }, fileBytes)).toBe(found);
      }),
      { numRuns: 1000 },
    );
  });

  test('cuts the ranges of an answer, in their order, at the bounds of chunks', () => {
    fc.assert(
      fc.property(inAnyOrder, fc.integer({ min: 1, max: 20 }), (ranges, chunkBytes) => {
        // Byte by byte: a slice ends where the next byte is of another chunk or range.
        const model: { chunk: number; start: number; end: number; begins: boolean }[] = [];
        for (const { start, end } of ranges) {
          for (let i = start; i < end; i++) {
            const chunk = Math.floor(i / chunkBytes);
            const last = model.at(-1);
            if (i > start && last?.chunk === chunk) last.end = i + 1;
            else model.push({ chunk, start: i, end: i + 1, begins: i === start });
          }
        }
        const plan = new SlicePlan(ranges, chunkBytes);
        expect(plan.count).toBe(model.length);
        model.forEach(({ chunk, start, end, begins }, i) => {
          expect(plan.at(i)).toEqual({ chunk, range: { start, end } });
          const whole = ranges.find((r) => r.start === start);
          expect(plan.rangeBeginningAt(i)).toEqual(begins ? whole : undefined);
        });
      }),
    );
  });

  test('a file of terabytes costs nothing until its slices are needed', () => {
    const plan = new SlicePlan([{ start: 0, end: 2 ** 44 }], 64 * KiB);
    expect(plan.count).toBe(2 ** 28);
    expect(plan.at(2 ** 28 - 1).range.end).toBe(2 ** 44);
  });

  test('there is no slice outside the plan', () => {
    const plan = new SlicePlan([{ start: 5, end: 25 }], 10);
    expect(plan.count).toBe(3);
    expect(() => plan.at(3)).toThrow(RangeError);
    expect(() => plan.at(-1)).toThrow(RangeError);
    expect(plan.rangeBeginningAt(3)).toBeUndefined();
    expect(new SlicePlan([], 10).count).toBe(0);
  });
});
