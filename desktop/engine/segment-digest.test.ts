import { describe, expect, test } from '@jest/globals';
import { segmentDigest } from './segment-digest.ts';

const MIB = 1024 * 1024;

describe('segmentDigest', () => {
  test.each([
    ['', 'ef46db3751d8e999'],
    ['a', 'd24ec4f1a98c6e5b'],
    ['abc', '44bc2cf5ad770999'],
  ])('is XXH64 of "%s"', (text, digest) => {
    expect(segmentDigest(Buffer.from(text))).toBe(digest);
  });

  test('keeps zeros in front', () => {
    for (let i = 0; i < 1000; i++) {
      expect(segmentDigest(Buffer.from(`${i}`))).toMatch(/^[0-9a-f]{16}$/);
    }
  });

  test.each([MIB, MIB + 1, 3 * MIB, 3 * MIB + 12_345])('sees one changed bit in %d bytes', (n) => {
    const bytes = Buffer.alloc(n, 'x');
    const digest = segmentDigest(bytes);
    expect(segmentDigest(Buffer.from(bytes))).toBe(digest);
    for (const at of [0, n >> 1, n - 1]) {
      bytes[at] = (bytes[at] as number) ^ 1;
      expect(segmentDigest(bytes)).not.toBe(digest);
      bytes[at] = (bytes[at] as number) ^ 1;
    }
    expect(segmentDigest(bytes.subarray(1))).not.toBe(digest);
  });
});
