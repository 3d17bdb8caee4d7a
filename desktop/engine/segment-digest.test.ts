import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { SegmentDigest } from './segment-digest.ts';

const MIB = Buffer.alloc(1024 * 1024, 'x');
const hexOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

/** A clock that goes on by the next of `steps` with every second reading. */
function clock(...steps: number[]): () => number {
  let now = 0;
  let readings = 0;
  return () => {
    if (readings++ % 2 === 1) now += steps.length > 1 ? (steps.shift() as number) : (steps[0] ?? 0);
    return now;
  };
}

describe('SegmentDigest', () => {
  test.each([
    ['quick', 0.7],
    ['slow', 5],
  ])('is the SHA-256 of the bytes where the processor is %s', async (_, ms) => {
    const digests = new SegmentDigest(clock(ms));
    for (const bytes of [Buffer.alloc(0), Buffer.from('abc'), MIB, MIB.subarray(7, 99)]) {
      for (let i = 0; i < 20; i++) expect(await digests.of(bytes)).toBe(hexOf(bytes));
    }
    expect(digests.slow).toBe(ms > 2);
  });

  test('one quick segment shows that the processor is: it was busy before', async () => {
    const digests = new SegmentDigest(clock(...new Array(10).fill(9), 1, 9));
    for (let i = 0; i < 50; i++) await digests.of(MIB);
    expect(digests.slow).toBe(false);
  });

  test('what is too short proves nothing', async () => {
    const digests = new SegmentDigest(clock(9));
    for (let i = 0; i < 50; i++) await digests.of(Buffer.alloc(1000));
    expect(digests.slow).toBe(false);
  });
});
