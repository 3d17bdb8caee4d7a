import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type ByteRange, RangeSet, rangeBytes } from '../../base/byte-range.ts';
import { compareVersions, SAMPLE_BYTES, samplePlan, samplesWithin } from './same-file.ts';

const digest = (hex: string) => ({ algorithm: 'sha256' as const, hex });
const version = (over: object = {}) => ({ length: 1000, validators: {}, digests: [], ...over });

describe('compareVersions', () => {
  test.each([
    ['another length', version({ digests: [digest('aa')] }), { length: 999 }, 'different'],
    ['the same digest', { digests: [digest('aa')] }, { digests: [digest('aa')] }, 'same'],
    ['another digest', { digests: [digest('aa')] }, { digests: [digest('bb')] }, 'different'],
    ['one strong tag', { validators: { etag: '"a"' } }, { validators: { etag: '"a"' } }, 'same'],
    ['two tags', { validators: { etag: '"a"' } }, { validators: { etag: '"b"' } }, 'unknown'],
    ['nothing said', {}, {}, 'unknown'],
  ])('of two servers: %s', (_what, a, b, expected) => {
    expect(compareVersions(version(a), version(b), false).kind).toBe(expected);
  });

  const dated = (lastModified: number, lastModifiedIsStrong: boolean) => ({
    validators: { lastModified, lastModifiedIsStrong },
  });

  test.each([
    ['two tags', { validators: { etag: '"a"' } }, { validators: { etag: '"b"' } }, 'different'],
    ['a tag that is gone', { validators: { etag: '"a"' } }, {}, 'different'],
    ['two dates', dated(1000, true), dated(2000, true), 'different'],
    ['one old date', dated(1000, true), dated(1000, true), 'same'],
    ['one fresh date', dated(1000, true), dated(1000, false), 'unknown'],
    ['nothing said', {}, {}, 'unknown'],
  ])('of one server: %s', (_what, a, b, expected) => {
    expect(compareVersions(version(a), version(b), true).kind).toBe(expected);
  });
});

/** Expects ranges that are ascending, disjoint and not empty. */
function expectSamples(ranges: readonly ByteRange[]): void {
  let end = 0;
  for (const range of ranges) {
    expect(range.start).toBeGreaterThanOrEqual(end);
    expect(rangeBytes(range)).toBeGreaterThan(0);
    end = range.end;
  }
}

describe('samplePlan', () => {
  test('samples a short file as a whole, and a longer file in places up to its end', () => {
    expect(samplePlan(100, Math.random)).toEqual([{ start: 0, end: 100 }]);
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 2 ** 45 }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (n, x) => {
          const plan = samplePlan(n, () => x);
          expectSamples(plan);
          expect(plan.at(-1)?.end).toBe(n);
          expect(plan.reduce((sum, r) => sum + rangeBytes(r), 0)).toBeLessThanOrEqual(
            Math.max(SAMPLE_BYTES * 6, 1),
          );
        },
      ),
    );
  });
});

describe('samplesWithin', () => {
  test('chooses only stored bytes, the last ones among them', () => {
    const range = fc
      .tuple(fc.nat(1_000_000), fc.integer({ min: 1, max: 300_000 }))
      .map(([start, length]) => ({ start, end: start + length }));
    fc.assert(
      fc.property(
        fc.array(range),
        fc.array(fc.double({ min: 0, max: 0.999, noNaN: true })),
        (ranges, draws) => {
          const stored = new RangeSet(ranges);
          let i = 0;
          const samples = samplesWithin(stored.ranges, () => draws[i++ % (draws.length || 1)] ?? 0);
          for (const sample of samples) {
            expect(stored.covers(sample)).toBe(true);
            expect(rangeBytes(sample)).toBeLessThanOrEqual(SAMPLE_BYTES);
          }
          expect(samples.at(-1)?.end).toBe(stored.ranges.at(-1)?.end);
        },
      ),
    );
  });
});
