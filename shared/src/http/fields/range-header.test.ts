import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { MAX_RANGE_FIELD_CHARS, MAX_RANGES } from '../../base/limits.ts';
import { formatRange, parseRange, type RangeSpec, resolveRanges } from './range-header.ts';

const MAX_POSITION = Number.MAX_SAFE_INTEGER - 1;

const spec: fc.Arbitrary<RangeSpec> = fc.oneof(
  fc.tuple(fc.nat(80), fc.nat(20)).map(([from, more]) => ({ from, to: from + more })),
  fc.nat(80).map((from) => ({ from, to: undefined })),
  fc.nat(80).map((suffix) => ({ suffix })),
);

/** Lists the positions of the bytes that one range asks for. */
function bytesOf(asked: RangeSpec, length: number): number[] {
  const all = Array.from({ length }, (_, i) => i);
  if ('suffix' in asked) return asked.suffix === 0 ? [] : all.slice(-asked.suffix);
  return all.filter((i) => i >= asked.from && i <= (asked.to ?? length));
}

describe('Range', () => {
  test.each([
    ['bytes=0-499', [{ from: 0, to: 499 }]],
    ['bytes=500-', [{ from: 500, to: undefined }]],
    ['bytes=-500', [{ suffix: 500 }]],
    ['bytes=-0', [{ suffix: 0 }]],
    ['bytes=7-7', [{ from: 7, to: 7 }]],
    ['bytes= 0-0 , 5- ,, -1 ,', [{ from: 0, to: 0 }, { from: 5, to: undefined }, { suffix: 1 }]],
    [' Bytes = 1-2', [{ from: 1, to: 2 }]],
    ['bytes=0-99999999999999999999', [{ from: 0, to: MAX_POSITION }]],
    ['bytes=99999999999999999999-', [{ from: MAX_POSITION, to: undefined }]],
  ])('%j is understood', (value, specs) => {
    expect(parseRange(value)).toEqual(specs);
  });

  test.each([
    undefined,
    '',
    'bytes',
    'bytes=',
    'bytes=,',
    'bytes=-',
    'bytes=5-4',
    'bytes=0-1,5-4',
    'bytes=a-b',
    'bytes=0--1',
    'bytes=0-1-2',
    'bytes=0 - 1',
    'bytes=+0-1',
    'bytes=1.5-2',
    'bytes:0-1',
    'items=0-1',
    'bytesx=0-1',
    '0-1',
  ])('%j is ignored, so that the whole file is sent', (value) => {
    expect(parseRange(value)).toBeUndefined();
  });

  test('a field that is too long is ignored', () => {
    const long = `bytes=0-1${' '.repeat(MAX_RANGE_FIELD_CHARS)}`;
    expect(parseRange(long)).toBeUndefined();
    expect(parseRange(`bytes=0-1${' '.repeat(MAX_RANGE_FIELD_CHARS - 9)}`)).toHaveLength(1);
    expect(parseRange(`items=${' '.repeat(MAX_RANGE_FIELD_CHARS)}`)).toBeUndefined();
  });

  test.each([
    ['bytes=0-0', 10, '0-1'],
    ['bytes=0-', 10, '0-10'],
    ['bytes=5-100', 10, '5-10'],
    ['bytes=-3', 10, '7-10'],
    ['bytes=-30', 10, '0-10'],
    ['bytes=-0', 10, ''],
    ['bytes=10-', 10, ''],
    ['bytes=10-,-0,2-3', 10, '2-4'],
    ['bytes=0-', 0, ''],
    ['bytes=-5', 0, ''],
    ['bytes=0-1,1-2', 10, '0-3'],
    ['bytes=0-1,2-3', 10, '0-4'],
    ['bytes=0-1,3-4', 10, '0-2 3-5'],
    ['bytes=8-9,0-1', 10, '8-10 0-2'],
    ['bytes=4-5,0-1,1-4', 10, '0-6'],
    ['bytes=7-8,0-1,3-4,2-2', 10, '7-9 0-5'],
  ])('%s of %d bytes are the half-open ranges "%s"', (value, length, expected) => {
    const ranges = resolveRanges(parseRange(value) ?? [], length);
    expect(ranges?.map((r) => `${r.start}-${r.end}`).join(' ')).toBe(expected);
  });

  test('every requested byte is sent once, and no other, in the order of the request', () => {
    fc.assert(
      fc.property(fc.array(spec, { maxLength: 10 }), fc.nat(100), (specs, length) => {
        const asked = specs.map((one) => bytesOf(one, length)).filter((bytes) => bytes.length > 0);
        const ranges = resolveRanges(specs, length) ?? [];
        const sent = ranges.flatMap(({ start, end }) =>
          Array.from({ length: end - start }, (_, i) => start + i),
        );
        expect(new Set(sent).size).toBe(sent.length);
        expect(new Set(sent)).toEqual(new Set(asked.flat()));
        // Adjacent ranges have been merged.
        for (const a of ranges) for (const b of ranges) expect(a.end).not.toBe(b.start);
        const firsts = ranges.map((r) =>
          asked.findIndex(([first = -1]) => first >= r.start && first < r.end),
        );
        expect(firsts).toEqual([...firsts].sort((a, b) => a - b));
      }),
    );
  });

  test('more ranges than the limit are ignored, counted after merging', () => {
    const apart = (count: number) =>
      Array.from({ length: count }, (_, i) => ({ from: i * 10, to: i * 10 + 1 }));
    expect(resolveRanges(apart(MAX_RANGES), 1000)).toHaveLength(MAX_RANGES);
    expect(resolveRanges(apart(MAX_RANGES + 1), 1000)).toBeUndefined();
    const touching = Array.from({ length: 500 }, (_, i) => ({ from: i, to: i }));
    expect(resolveRanges(touching, 1000)).toEqual([{ start: 0, end: 500 }]);
    const pastTheEnd = Array.from({ length: 500 }, (_, i) => ({ from: 2000 + 2 * i, to: 9999 }));
    expect(resolveRanges([...pastTheEnd, ...apart(2)], 1000)).toHaveLength(2);
  });

  test('a written range is read back as the same range', () => {
    fc.assert(
      fc.property(fc.nat(), fc.integer({ min: 1 }), (start, bytes) => {
        const range = { start, end: start + bytes };
        const specs = parseRange(formatRange(range));
        expect(resolveRanges(specs ?? [], range.end + 10)).toEqual([range]);
      }),
    );
  });

  test('any field is ignored or resolved to ranges inside the file', () => {
    const alike = fc.stringMatching(/^bytes=[0-9, -]{0,40}$/);
    fc.assert(
      fc.property(fc.oneof(fc.string(), alike), fc.nat(100), (value, length) => {
        const specs = parseRange(value);
        for (const range of resolveRanges(specs ?? [], length) ?? []) {
          expect(range.start).toBeGreaterThanOrEqual(0);
          expect(range.end).toBeGreaterThan(range.start);
          expect(range.end).toBeLessThanOrEqual(length);
        }
      }),
    );
  });
});
