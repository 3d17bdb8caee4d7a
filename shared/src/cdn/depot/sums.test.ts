import { crc32 } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isSegment, RECORD_BYTES, readSum, SEGMENT_BYTES, SumsWriter, scanSums } from './sums.ts';

/** Writes bytes in pieces, some of which end with a cut. @returns bytes and records */
function written(pieces: readonly { bytes: number; cut: boolean }[]) {
  const parts: Buffer[] = [];
  const records: Uint8Array[] = [];
  const writer = new SumsWriter(crc32, 0);
  for (const [i, { bytes, cut }] of pieces.entries()) {
    const part = Buffer.alloc(bytes, i + 1);
    parts.push(part);
    writer.add(part);
    if (cut) records.push(writer.cut());
  }
  records.push(writer.cut());
  return { data: Buffer.concat(parts), records: Buffer.concat(records) };
}

/** Returns the ends of segments whose record and bytes are right, up to the first other one. */
function goodEnds(data: Buffer, records: Uint8Array): number[] {
  const ends: number[] = [];
  const { count } = scanSums(records, crc32);
  for (let i = 0; i < count; i++) {
    const sum = readSum(records, i * RECORD_BYTES, crc32);
    const start = ends.at(-1) ?? 0;
    if (sum === undefined || crc32(data.subarray(start, sum.end)) !== sum.crc) break;
    ends.push(sum.end);
  }
  return ends;
}

const pieces = fc.array(
  fc.record({ bytes: fc.integer({ min: 0, max: 3 * SEGMENT_BYTES }), cut: fc.boolean() }),
  { maxLength: 12 },
);

describe('sums', () => {
  test('however bytes come, their records cover all of them in segments that fit', () => {
    fc.assert(
      fc.property(pieces, (list) => {
        const { data, records } = written(list);
        expect(scanSums(records, crc32).end).toBe(data.length);
        let start = 0;
        for (const end of goodEnds(data, records)) {
          expect(isSegment(start, end)).toBe(true);
          start = end;
        }
        expect(start).toBe(data.length);
      }),
      { numRuns: 50 },
    );
  });

  test('a file of sums that is cut off anywhere counts up to its last whole record', () => {
    fc.assert(
      fc.property(pieces, fc.double({ min: 0, max: 1, noNaN: true }), (list, share) => {
        const { data, records } = written(list);
        const cut = Math.floor(share * records.length);
        const { count, end } = scanSums(records.subarray(0, cut), crc32);
        expect(count).toBe(Math.floor(cut / RECORD_BYTES));
        expect(end).toBe(goodEnds(data, records)[count - 1] ?? 0);
      }),
      { numRuns: 50 },
    );
  });

  test('one bit that is wrong anywhere ends the good bytes before its record', () => {
    const nonEmpty = pieces.filter((list) => list.some(({ bytes }) => bytes > 0));
    fc.assert(
      fc.property(nonEmpty, fc.nat(), (list, at) => {
        const { data, records } = written(list);
        const bit = at % (records.length * 8);
        const damaged = Buffer.from(records);
        damaged[bit >> 3] = (damaged[bit >> 3] as number) ^ (1 << (bit & 7));
        const record = Math.floor((bit >> 3) / RECORD_BYTES);
        expect(scanSums(damaged, crc32).count).toBe(record);
        expect(scanSums(damaged, crc32).end).toBe(goodEnds(data, records)[record - 1] ?? 0);
      }),
      { numRuns: 100 },
    );
  });

  test('whatever a file of sums holds, the scan ends, and the ends of segments grow', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (records) => {
        const { count, end } = scanSums(records, crc32);
        expect(count * RECORD_BYTES).toBeLessThanOrEqual(records.length);
        expect(end).toBeGreaterThanOrEqual(count);
      }),
    );
    // Zeros, which file systems put in place of lost blocks, are no record.
    expect(scanSums(new Uint8Array(1024), crc32)).toEqual({ count: 0, end: 0 });
  });

  test('an upload that continues begins a new segment, also in the middle of 64 KiB', () => {
    const writer = new SumsWriter(crc32, SEGMENT_BYTES + 10);
    writer.add(Buffer.alloc(SEGMENT_BYTES));
    const records = writer.cut();
    const ends = [0, 1].map((i) => readSum(records, i * RECORD_BYTES, crc32)?.end);
    expect(ends).toEqual([2 * SEGMENT_BYTES, 2 * SEGMENT_BYTES + 10]);
    expect(writer.cut()).toHaveLength(0);
  });
});
