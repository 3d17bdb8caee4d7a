import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { downloadStripe } from '../../../testing/stripes/simulated-stripe.ts';
import { endOfFirst, keptByLate, sharedRanges } from './late-places.ts';

const MIB = 1024 * 1024;
const nobody = new Set<string>();
const place = (id: string, rate: number | undefined, restBytes: number) => ({
  id,
  rate,
  restBytes,
});

test('a place is late if parity would be far sooner, and keeps what it brings until then', () => {
  const parity = [undefined, undefined];
  const fast = ['b', 'c', 'd'].map((id) => place(id, 1000, 10_000));
  // The fast ones are done in 10 s, and the slow one brings 50 bytes a second.
  expect([...keptByLate([place('a', 50, 10_000), ...fast], parity, nobody)]).toEqual([['a', 500]]);
  const two = [place('a', 50, 10_000), place('b', 20, 10_000), ...fast.slice(1)];
  expect([...keptByLate(two, parity, nobody).keys()].sort()).toEqual(['a', 'b']);
  // Half as fast again is not late, unless it has been.
  const near = [place('a', 600, 10_000), ...fast];
  expect(keptByLate(near, parity, nobody).size).toBe(0);
  expect(keptByLate(near, parity, new Set(['a'])).size).toBe(1);
});

test('nobody is late while parity is no sooner, or nothing is known', () => {
  const slow = place('a', 50, 10_000);
  const fast = ['b', 'c'].map((id) => place(id, 1000, 10_000));
  expect(keptByLate([slow, ...fast], [], nobody).size).toBe(0);
  expect(keptByLate([slow, ...fast], [20, 20], nobody).size).toBe(0);
  const unknown = ['b', 'c'].map((id) => place(id, undefined, 10_000));
  expect(keptByLate([slow, ...unknown], [undefined, undefined], nobody).size).toBe(0);
  expect(keptByLate([place('a', 0, 0)], [5], nobody).size).toBe(0);
});

test('a place that stands still keeps nothing', () => {
  const fast = ['b', 'c'].map((id) => place(id, 1000, 10_000));
  const kept = keptByLate([place('a', 0, 10_000), ...fast], [500], nobody);
  expect([...kept]).toEqual([['a', 0]]);
});

test('shared and first bytes of ranges', () => {
  const parts = [
    { start: 0, end: 10 },
    { start: 20, end: 30 },
  ];
  const rest = sharedRanges(parts, [
    { start: 5, end: 22 },
    { start: 24, end: 50 },
  ]);
  expect(rest).toEqual([
    { start: 5, end: 10 },
    { start: 20, end: 22 },
    { start: 24, end: 30 },
  ]);
  expect([0, 4, 5, 7, 12, 13].map((bytes) => endOfFirst(rest, bytes))).toEqual([
    ...[5, 9, 20, 24, 29, Infinity],
  ]);
});

const RATE = 2 * MIB;
const stripe = {
  ...{ length: 48 * MIB + 12_345, blockBytes: MIB, unitBlocks: 1, rttMs: 20, seed: 1 },
  ...{ data: [RATE, RATE, RATE, RATE], parity: [RATE, RATE], solvesLate: true },
};

test('of 4+2 depots two with a twentieth of the speed cost little time, and few bytes come twice', () => {
  const healthy = downloadStripe(stripe);
  expect(healthy.solvedBlocks).toBe(0);
  for (const slow of [[0], [1, 2]]) {
    const data = stripe.data.map((rate, i) => (slow.includes(i) ? rate / 20 : rate));
    const waiting = downloadStripe({ ...stripe, data, solvesLate: false });
    expect(waiting.ms).toBeGreaterThan(15 * healthy.ms);
    const { ms, receivedBytes } = downloadStripe({ ...stripe, data });
    expect(ms).toBeLessThan(1.4 * healthy.ms);
    expect(receivedBytes).toBeLessThan(1.04 * stripe.length);
  }
});

test('every striped download ends, no later than without parity, and with few bytes twice', () => {
  const drawn = fc.record({
    data: fc.array(fc.integer({ min: 0, max: 8 }), { minLength: 1, maxLength: 6 }),
    parity: fc.array(fc.integer({ min: 0, max: 8 }), { minLength: 1, maxLength: 3 }),
    blocks: fc.integer({ min: 1, max: 40 }),
    unitBlocks: fc.integer({ min: 1, max: 4 }),
    rttMs: fc.integer({ min: 1, max: 200 }),
    seed: fc.nat(),
  });
  fc.assert(
    fc.property(drawn, ({ data, parity, blocks, ...rest }) => {
      const blockBytes = MIB / 4;
      const options = {
        ...{ ...rest, blockBytes, length: blocks * blockBytes - 99 },
        data: data.map((power) => RATE / 2 ** power),
        parity: parity.map((power) => RATE / 2 ** power),
      };
      const waiting = downloadStripe({ ...options, solvesLate: false });
      const solving = downloadStripe({ ...options, solvesLate: true });
      const more = solving.receivedBytes - waiting.receivedBytes;
      // Beyond what is allowed: what is being solved, and waits for it, when that is used up.
      const allowed =
        2 * Math.max(0.02 * options.length, parity.length * blockBytes) + 0.02 * options.length;
      expect(more).toBeLessThanOrEqual(allowed + 3 * data.length * blockBytes);
      expect(solving.ms).toBeLessThan(1.5 * waiting.ms + 3000);
    }),
    { numRuns: 15 },
  );
});
