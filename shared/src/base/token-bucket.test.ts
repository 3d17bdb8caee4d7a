import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { TokenBucket } from './token-bucket.ts';

/** Takes tokens until one is refused. */
function takeAll(bucket: TokenBucket, now: number): number {
  let taken = 0;
  while (bucket.tryTake(now)) taken++;
  return taken;
}

describe('TokenBucket', () => {
  test('lets a burst through at once, then as many tokens as flow in', () => {
    const bucket = new TokenBucket(10, 5, 0);
    expect(takeAll(bucket, 0)).toBe(5);
    expect(takeAll(bucket, 99)).toBe(0);
    expect(takeAll(bucket, 100)).toBe(1);
    expect(takeAll(bucket, 400)).toBe(3);
  });

  test('saves up no more than the burst', () => {
    const bucket = new TokenBucket(10, 5, 0);
    takeAll(bucket, 0);
    expect(takeAll(bucket, 3_600_000)).toBe(5);
  });

  test('says how long to wait for a token', () => {
    const bucket = new TokenBucket(10, 1, 0);
    expect(bucket.waitMs(0, 1)).toBe(0);
    expect(bucket.tryTake(0)).toBe(true);
    expect(bucket.waitMs(0, 1)).toBe(100);
    expect(bucket.waitMs(40, 1)).toBe(60);
    expect(bucket.tryTake(99)).toBe(false);
    expect(bucket.tryTake(100)).toBe(true);
  });

  test('lets one large item pass and makes the next wait for it', () => {
    const bucket = new TokenBucket(1000, 100, 0);
    bucket.take(1100, 0);
    expect(bucket.waitMs(0)).toBe(1000);
    expect(bucket.tryTake(999)).toBe(false);
    expect(bucket.waitMs(1000)).toBe(0);
    bucket.take(500, 1000);
    expect(bucket.waitMs(1000)).toBe(500);
  });

  test('a clock that jumps back takes no tokens away and does not stop the flow', () => {
    const bucket = new TokenBucket(10, 5, 10_000);
    expect(takeAll(bucket, 10_000)).toBe(5);
    expect(bucket.waitMs(0, 1)).toBe(100);
    expect(takeAll(bucket, 0)).toBe(0);
    expect(takeAll(bucket, 100)).toBe(1);
  });

  test('is full again once everything taken has flowed back', () => {
    const bucket = new TokenBucket(10, 5, 0);
    expect(bucket.full(0)).toBe(true);
    bucket.take(2, 0);
    expect(bucket.full(199)).toBe(false);
    expect(bucket.full(200)).toBe(true);
  });

  test('never lets more through than the burst and the rate allow', () => {
    const steps = fc.array(fc.tuple(fc.nat(500), fc.nat(5)), { maxLength: 50 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100 }), fc.nat(20), steps, (rate, extra, times) => {
        const burst = 1 + extra;
        const bucket = new TokenBucket(rate, burst, 0);
        let now = 0;
        let taken = 0;
        for (const [pause, attempts] of times) {
          now += pause;
          for (let i = 0; i < attempts; i++) if (bucket.tryTake(now)) taken++;
        }
        expect(taken).toBeLessThanOrEqual(burst + (rate * now) / 1000 + 1e-6);
      }),
    );
  });

  test('after the wait that `waitMs` names, no debt is left', () => {
    const counts = fc.array(fc.integer({ min: 0, max: 300 }), { maxLength: 20 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5000 }), counts, (rate, takes) => {
        const bucket = new TokenBucket(rate, 50, 0);
        let now = 0;
        for (const count of takes) {
          bucket.take(count, now);
          now += bucket.waitMs(now);
          expect(bucket.waitMs(now)).toBeLessThanOrEqual(1);
        }
      }),
    );
  });
});
