import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { MAX_TIMEOUT_MS, MIN_TIMEOUT_MS, RetryTimer } from './retry-timer.ts';

function after(...times: number[]): RetryTimer {
  const timer = new RetryTimer();
  for (const ms of times) timer.onChunk(ms);
  return timer;
}

describe('RetryTimer', () => {
  test('gives the first chunk three seconds, doubled with each retry up to ten', () => {
    const timer = after();
    expect([0, 1, 2, 3, 10].map((attempt) => timer.timeoutMs(attempt))).toEqual([
      3000, 6000, 10_000, 10_000, 10_000,
    ]);
  });

  test('gives later chunks their usual time and four deviations', () => {
    // One chunk of 400 ms: a mean of 400 and a deviation of 200.
    expect(after(400).timeoutMs(0)).toBe(1200);
    expect(after(400).timeoutMs(1)).toBe(2400);
    // Then one of 800 ms: a deviation of 250 and a mean of 450.
    expect(after(400, 800).timeoutMs(0)).toBe(1450);
  });

  test('never less than half a second, however fast chunks come', () => {
    const timer = after(...new Array<number>(100).fill(1));
    expect(timer.timeoutMs(0)).toBe(MIN_TIMEOUT_MS);
    expect(timer.timeoutMs(1)).toBe(2 * MIN_TIMEOUT_MS);
    expect(MIN_TIMEOUT_MS).toBe(500);
  });

  test('never more than ten seconds, unless chunks usually need more than half of that', () => {
    expect(after(4000).timeoutMs(5)).toBe(MAX_TIMEOUT_MS);
    expect(MAX_TIMEOUT_MS).toBe(10_000);
    expect(after(...new Array<number>(100).fill(20_000)).timeoutMs(5)).toBeCloseTo(40_000);
  });

  test('knows which chunks are faster than the average so far', () => {
    const timer = after();
    expect(timer.meanMs).toBe(0);
    expect(timer.onChunk(1000)).toBe(true);
    expect(timer.meanMs).toBe(1000);
    expect(timer.onChunk(1000)).toBe(false);
    expect(timer.onChunk(999)).toBe(true);
    expect(timer.onChunk(5000)).toBe(false);
  });

  test('the time to wait keeps its bounds and never falls from one attempt to the next', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(120_000)), (times) => {
        const timer = after(...times);
        let before = MIN_TIMEOUT_MS;
        for (let attempt = 0; attempt <= 10; attempt++) {
          const ms = timer.timeoutMs(attempt);
          expect(ms).toBeGreaterThanOrEqual(before);
          expect(ms).toBeLessThanOrEqual(Math.max(MAX_TIMEOUT_MS, 2 * timer.meanMs));
          before = ms;
        }
      }),
    );
  });
});
