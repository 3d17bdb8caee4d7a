import { describe, expect, test } from '@jest/globals';
import { segmentDigest } from './segment-digest.ts';
import { UnitDigests } from './unit-digests.ts';

const UNIT = 100;
const LENGTH = 250;
const CONTENT = Buffer.from(Array.from({ length: LENGTH }, (_, i) => (i * 31) & 0xff));
const digestOf = (start: number, end: number) => segmentDigest(CONTENT.subarray(start, end));

function setUp() {
  const units = new UnitDigests(LENGTH, UNIT);
  const begin = (start: number, end: number) => {
    const range = { start, end };
    const digests = units.of(range, CONTENT.subarray(start, end));
    return { digest: digests.digest, end: () => units.written(range, digests) };
  };
  const write = (start: number, end: number) => begin(start, end).end();
  return { units, begin, write };
}

describe('UnitDigests', () => {
  test('every write has the digest of its own bytes', () => {
    const { begin } = setUp();
    for (const [start, end] of [
      [0, 30],
      [30, 100],
      [100, 200],
      [210, 250],
    ] as const) {
      const { digest, end: ended } = begin(start, end);
      expect(digest).toBe(digestOf(start, end));
      ended();
    }
  });

  test('writes that fill a unit in order give its digest', () => {
    const { write } = setUp();
    expect(write(0, 30)).toBeUndefined();
    expect(write(30, 99)).toBeUndefined();
    expect(write(99, 100)).toBe(digestOf(0, 100));
  });

  test('the last unit ends with the file', () => {
    const { write } = setUp();
    write(200, 220);
    expect(write(220, 250)).toBe(digestOf(200, 250));
  });

  test('units are told apart, however their writes alternate', () => {
    const { write } = setUp();
    write(0, 30);
    write(100, 150);
    expect(write(30, 100)).toBe(digestOf(0, 100));
    expect(write(150, 200)).toBe(digestOf(100, 200));
  });

  test.each([
    ['without its beginning', [[10, 100]]],
    [
      'with a gap',
      [
        [0, 30],
        [40, 100],
      ],
    ],
    [
      'in another order',
      [
        [30, 100],
        [0, 30],
      ],
    ],
  ])('a unit that is written %s has no digest here', (_, parts) => {
    const { write } = setUp();
    for (const [start, end] of parts as [number, number][]) {
      expect(write(start, end)).toBeUndefined();
    }
  });

  test('bytes whose write has not ended, or has failed, do not count as the beginning of a unit', () => {
    const { begin, write } = setUp();
    write(0, 30);
    begin(30, 60);
    expect(write(60, 100)).toBeUndefined();
    // The repeated write does not follow on the failed one either.
    write(30, 60);
    expect(write(60, 100)).toBeUndefined();
  });

  test('removed bytes do not count as the beginning, even if they are removed during a write', () => {
    const { units, begin, write } = setUp();
    write(0, 30);
    units.clear();
    expect(write(30, 100)).toBeUndefined();
    write(100, 130);
    const last = begin(130, 200);
    units.clear();
    expect(last.end()).toBeUndefined();
  });

  test('forgets the unit that was extended longest ago when there are too many', () => {
    const unit = 10;
    const units = new UnitDigests(10_000, unit);
    const write = (start: number, end: number) => {
      const range = { start, end };
      return units.written(range, units.of(range, Buffer.alloc(end - start)));
    };
    for (let i = 0; i < 65; i++) write(i * unit, i * unit + 5);
    expect(write(5, 10)).toBeUndefined();
    expect(write(15, 20)).toBe(segmentDigest(Buffer.alloc(10)));
  });
});
