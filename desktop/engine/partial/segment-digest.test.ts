import { describe, expect, test } from '@jest/globals';
import { native, segmentDigest, webAssembly } from './segment-digest.ts';

const MIB = 1024 * 1024;
const KNOWN = [
  ['', 'ef46db3751d8e999'],
  ['a', 'd24ec4f1a98c6e5b'],
  ['abc', '44bc2cf5ad770999'],
] as const;

describe('segmentDigest', () => {
  test.each(KNOWN)('is XXH64 of "%s"', (text, digest) => {
    expect(segmentDigest(Buffer.from(text))).toBe(digest);
  });

  test('keeps leading zeros', () => {
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

// One machine or version may read a journal that another one wrote.
describe('both implementations', () => {
  test.each([0, 1, 31, 32, 33, MIB - 1, MIB, MIB + 1, 3 * MIB + 12_345])(
    'agree about %d bytes',
    async (n) => {
      const bytes = pattern(n + 1).subarray(1);
      expect((await native()).of(bytes)).toBe((await webAssembly()).of(bytes));
    },
  );

  test.each(KNOWN)('know "%s"', async (text, digest) => {
    const bytes = Buffer.from(text);
    for (const xxh64 of [await native(), await webAssembly()]) {
      expect(xxh64.of(bytes)).toBe(BigInt(`0x${digest}`));
    }
  });
});

/** Bytes of all values, without a short period. */
function pattern(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => (i * 31 + (i >> 8) * 7) & 255);
}
