import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { NO_FAILURES, nextOrder } from './certificate-plan.ts';

const DAY = 86_400_000;
const HOUR = 3_600_000;

test('a certificate is renewed when a third of its time is left, at times that differ', () => {
  const valid = { from: 1000 * DAY, to: 1090 * DAY };
  expect(nextOrder(valid, NO_FAILURES, () => 0)).toBeCloseTo(1060 * DAY, -3);
  expect(nextOrder(valid, NO_FAILURES, () => 0.999)).toBeLessThan(1062 * DAY);
  // Certificates of six days as well.
  expect(nextOrder({ from: 0, to: 6 * DAY }, NO_FAILURES, () => 0)).toBeCloseTo(4 * DAY, -3);
  expect(nextOrder(undefined, NO_FAILURES, () => 0.5)).toBe(0);
});

test('orders that fail are never more than four within an hour, and at least two a day', () => {
  const draw = fc.infiniteStream(fc.double({ min: 0, max: 0.999, noNaN: true }));
  fc.assert(
    fc.property(draw, (draws) => {
      const random = () => draws.next().value as number;
      const orders: number[] = [];
      let now = 5 * DAY;
      for (let count = 0; count < 30; count++) {
        now = Math.max(now, nextOrder(undefined, { count, at: now }, random));
        orders.push(now);
      }
      for (const [i, at] of orders.entries()) {
        expect((orders[i + 4] ?? Number.POSITIVE_INFINITY) - at).toBeGreaterThan(HOUR);
        expect((orders[i + 1] ?? at) - at).toBeLessThanOrEqual(15 * HOUR);
      }
    }),
    { numRuns: 50 },
  );
});

test('a failure does not bring a renewal forward', () => {
  const valid = { from: 0, to: 90 * DAY };
  expect(nextOrder(valid, { count: 3, at: DAY }, () => 0)).toBeCloseTo(60 * DAY, -3);
});
