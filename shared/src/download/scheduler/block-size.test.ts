import { describe, expect, test } from '@jest/globals';
import { type BlockSizeInput, chooseGridBytes, reachBytes, requestBytes } from './block-size.ts';

const KiB = 1024;
const MiB = 1024 * KiB;
const GiB = 1024 * MiB;

const input: BlockSizeInput = {
  rate: MiB,
  firstByteMs: 100,
  othersRate: 7 * MiB,
  missing: GiB,
  connections: 8,
  urgent: false,
};

describe('requestBytes', () => {
  test.each([
    ['a few seconds at the rate of the source', {}, 4 * MiB],
    ['less where a reader waits', { urgent: true }, MiB],
    ['little from a source nothing is known of', { rate: undefined }, 256 * KiB],
    ['even less of a small file', { rate: undefined, missing: 1600 * KiB }, 100 * KiB],
    ['less when the end is near, so that all end together', { missing: 8 * MiB }, MiB / 2],
    [
      'all that is left where less would mostly be waiting',
      { missing: 4 * MiB, sole: true },
      MiB / 2,
    ],
    [
      'no less than eight times the wait for it',
      { missing: 16 * MiB, firstByteMs: 200, sole: true },
      Math.floor(1.6 * MiB),
    ],
    [
      'more from the only source, which nobody else is quicker than',
      { rate: undefined, sole: true },
      2 * MiB,
    ],
    ['no less than a tenth of a second', { missing: 64 * KiB, rate: 10 * MiB }, MiB],
    ['no less than 64 KiB', { rate: 10 }, 64 * KiB],
    ['no more than 64 MiB', { rate: GiB }, 64 * MiB],
  ])('%s', (_name, change, bytes) => {
    expect(requestBytes({ ...input, ...change })).toBe(bytes);
  });
});

describe('reachBytes', () => {
  test('counts the bytes that others bring during the smallest request of a slow source', () => {
    expect(reachBytes({ ...input, rate: 64 * KiB, firstByteMs: 1000 })).toBe(14 * MiB);
    expect(reachBytes({ ...input, rate: 64 * KiB, firstByteMs: 1000, behindMs: 1000 })).toBe(
      7 * MiB,
    );
  });

  test('is 0 without other requests, and for an unknown source', () => {
    expect(reachBytes({ ...input, othersRate: 0, rate: 0 })).toBe(0);
    expect(reachBytes({ ...input, rate: undefined })).toBe(0);
  });

  test('is infinite for a source that brings nothing', () => {
    const behindMs = Number.POSITIVE_INFINITY;
    expect(reachBytes({ ...input, rate: 0, behindMs })).toBe(Number.POSITIVE_INFINITY);
  });
});

test.each([
  [1, 64 * KiB],
  [4 * GiB, 64 * KiB],
  [4 * GiB + 1, 128 * KiB],
  [100 * GiB, 2 * MiB],
  [Number.MAX_SAFE_INTEGER, 2 ** 37],
])('a file of %d bytes is kept in blocks of %d', (length, bytes) => {
  expect(chooseGridBytes(length)).toBe(bytes);
});
