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
        waitMs: 0,
        newRate: MiB,
        newFirstByteMs: 0,
      }),
    ).toBe(4 * MiB);
  });

  test('a request that stands still loses everything', () => {
    const still = {
      position: 1000,
      end: 2000,
      etaMs: Number.POSITIVE_INFINITY,
      rate: 0,
      waitMs: 0,
    };
    expect(takeoverStart({ ...still, newRate: 1000, newFirstByteMs: 50 })).toBe(1000);
  });

  test('a request that will be done soon is left alone', () => {
    const quick = { position: 0, end: MiB, etaMs: 115, rate: 9 * MiB, waitMs: 0 };
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
        fc.nat(2000),
        (a, b, left, wait, waitMs) => {
          const etaMs = waitMs + (left * 1000) / a;
          const input = { position: 0, end: left, etaMs, rate: a, waitMs, newRate: b };
          const start = takeoverStart({ ...input, newFirstByteMs: wait });
          if (start === undefined) return;
          const headMs = start === 0 ? 0 : waitMs + (start * 1000) / a;
          const tailMs = wait + ((left - start) * 1000) / b;
          expect(tailMs).toBeLessThan(etaMs - 100);
          expect(headMs).toBeLessThan(etaMs - 100);
          if (start > 0) expect(Math.abs(headMs - tailMs)).toBeLessThan(1 + 2000 / Math.min(a, b));
        },
      ),
    );
  });

  test('an answer that is late does not lose its end in ever smaller parts', () => {
    let [end, parts] = [64 * 1024, 0];
    const late = { position: 0, rate: 100 * 1024, newRate: 100 * 1024, newFirstByteMs: 250 };
    // The request would have to be answered by now, and is expected to need as long again.
    for (let waitMs = 0; waitMs < 5000 && end > 0; waitMs += 50) {
      const etaMs = waitMs + (end * 1000) / late.rate;
      const start = takeoverStart({ ...late, end, etaMs, waitMs });
      if (start === undefined) continue;
      parts++;
      expect(end - start).toBeGreaterThanOrEqual(4 * 1024);
      end = start;
    }
    expect(end).toBe(0);
    expect(parts).toBeLessThanOrEqual(6);
  });
});
