import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { takeoverStart } from './takeover.ts';

const MiB = 1024 * 1024;

describe('takeoverStart', () => {
  test('two equally fast requests share the rest', () => {
    expect(
      takeoverStart({
        position: 0,
        end: 8 * MiB,
        etaMs: 8000,
        rate: MiB,
        newRate: MiB,
        newFirstByteMs: 0,
      }),
    ).toBe(4 * MiB);
  });

  test('a request that stands still loses everything', () => {
    const still = { position: 1000, end: 2000, etaMs: Number.POSITIVE_INFINITY, rate: 0 };
    expect(takeoverStart({ ...still, newRate: 1000, newFirstByteMs: 50 })).toBe(1000);
  });

  test('a request that will be done soon is left alone', () => {
    const quick = { position: 0, end: MiB, etaMs: 115, rate: 9 * MiB };
    expect(takeoverStart({ ...quick, newRate: 100 * MiB, newFirstByteMs: 10 })).toBeUndefined();
  });

  test('both parts end at the same time, and earlier than before', () => {
    const rate = fc.double({ min: 1000, max: 1e8, noNaN: true });
    fc.assert(
      fc.property(
        rate,
        rate,
        fc.integer({ min: 1, max: 1e9 }),
        fc.nat(2000),
        (a, b, left, wait) => {
          const etaMs = (left * 1000) / a;
          const input = { position: 0, end: left, etaMs, rate: a, newRate: b };
          const start = takeoverStart({ ...input, newFirstByteMs: wait });
          if (start === undefined) return;
          const headMs = (start * 1000) / a;
          const tailMs = wait + ((left - start) * 1000) / b;
          expect(tailMs).toBeLessThan(etaMs - 100);
          expect(headMs).toBeLessThan(etaMs);
          if (start > 0) expect(Math.abs(headMs - tailMs)).toBeLessThan(1 + 2000 / Math.min(a, b));
        },
      ),
    );
  });
});
