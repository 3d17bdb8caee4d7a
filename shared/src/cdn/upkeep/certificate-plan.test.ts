import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  askAfter,
  challengesFor,
  countEarly,
  NO_EARLY,
  NO_FAILURES,
  nextOrder,
  readWindow,
} from './certificate-plan.ts';

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

test('an authority says when a certificate is renewed: at a time that is drawn in its window', () => {
  const valid = { from: 0, to: 90 * DAY };
  const at = (start: number, end: number, draw: number) =>
    nextOrder(valid, NO_FAILURES, () => draw, {
      ...{ window: { start: start * DAY, end: end * DAY }, early: NO_EARLY },
    }) / DAY;
  expect([at(10, 12, 0), at(10, 12, 0.5)]).toEqual([10, 11]);
  // No time after the end of the certificate is drawn, and a window after it does not count.
  expect(at(80, 200, 0.5)).toBe(85);
  expect(at(100, 200, 0)).toBeCloseTo(60);
  // The pause after a failure holds all the same.
  const advised = { window: { start: 0, end: 1 }, early: NO_EARLY };
  expect(nextOrder(valid, { count: 1, at: DAY }, () => 0, advised)).toBe(DAY + HOUR / 4);
});

test.each([
  ['nothing', undefined],
  ['null', null],
  ['numbers', { start: 1, end: 2 }],
  ['an end before the start', { start: '2026-01-02T00:00:00Z', end: '2026-01-01T00:00:00Z' }],
  ['no dates', { start: 'T', end: 'soon' }],
])('an answer has no window: %s', (_, suggested) => {
  expect(readWindow(suggested)).toBeUndefined();
});

test('a window is read, and asked for again within bounds', () => {
  const suggested = { start: '2026-01-01T00:00:00Z', end: '2026-01-02T00:00:00+01:00' };
  const start = Date.UTC(2026, 0, 1);
  expect(readWindow(suggested)).toEqual({ start, end: start + DAY - HOUR });
  expect([undefined, 0, HOUR, 9 * DAY].map(askAfter)).toEqual([6 * HOUR, 60_000, HOUR, DAY]);
});

test.each([6, 47, 90, 398])(
  'an authority that wants every certificate of %i days renewed at once gets five orders a week at most',
  (days) => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 0.999, noNaN: true }), (draw) => {
        const window = { start: 0, end: 1 };
        const orders: number[] = [1000 * DAY];
        let early = NO_EARLY;
        for (let now = 1000 * DAY; now < (1000 + 4 * days) * DAY; ) {
          const valid = { from: now, to: now + days * DAY };
          const next = nextOrder(valid, NO_FAILURES, () => draw, { window, early });
          // Nobody is without a certificate meanwhile, and the first one is replaced at once.
          expect(next).toBeLessThan(valid.to);
          if (early.count === 0) expect(next).toBeLessThan(now);
          now = Math.max(now, next);
          early = countEarly(early, valid, now);
          orders.push(now);
        }
        for (const [i, at] of orders.entries()) {
          expect((orders[i + 5] ?? Number.POSITIVE_INFINITY) - at).toBeGreaterThanOrEqual(7 * DAY);
        }
      }),
      { numRuns: 50 },
    );
  },
);

test('a renewal in the second half of a certificate, or a first order, is not early', () => {
  const valid = { from: 0, to: 90 * DAY };
  const early = { count: 2, at: DAY };
  expect(countEarly(early, valid, 44 * DAY)).toEqual({ count: 3, at: 44 * DAY });
  expect(countEarly(early, valid, 45 * DAY)).toEqual(NO_EARLY);
  expect(countEarly(early, undefined, DAY)).toEqual(NO_EARLY);
});

test('the challenge of an order is one that the ports allow, and the other one after a failure', () => {
  expect([0, 1].map((failures) => challengesFor(false, failures))).toEqual([
    ['tls-alpn-01'],
    ['tls-alpn-01'],
  ]);
  expect([0, 1, 2].map((failures) => challengesFor(true, failures)[0])).toEqual([
    'http-01',
    'tls-alpn-01',
    'http-01',
  ]);
});
