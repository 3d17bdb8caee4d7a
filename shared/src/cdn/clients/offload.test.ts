import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { chooseOffload, type Offloadable } from './offload.ts';

const transfer = (remainingBytes: number, aware = true): Offloadable => ({ aware, remainingBytes });

describe('chooseOffload', () => {
  test('resets no transfer up to the limit', () => {
    expect(chooseOffload([], 0)).toEqual([]);
    expect(chooseOffload([transfer(1), transfer(2)], 2)).toEqual([]);
  });

  test('resets the longest transfer of the clients that continue elsewhere', () => {
    const all = [transfer(5), transfer(9), transfer(7), transfer(100, false)];
    expect(chooseOffload(all, 3)).toEqual([transfer(9)]);
  });

  test('resets others only if there is no such client', () => {
    const all = [transfer(5, false), transfer(9, false)];
    expect(chooseOffload(all, 1)).toEqual([transfer(9, false)]);
    expect(chooseOffload([transfer(1), ...all], 2)).toEqual([transfer(1)]);
  });

  test('resets a tenth at a time, so that other nodes are not overrun', () => {
    const all = Array.from({ length: 50 }, (_, i) => transfer(i));
    expect(chooseOffload(all, 0).map((t) => t.remainingBytes)).toEqual([49, 48, 47, 46, 45]);
    expect(chooseOffload(all, 48)).toHaveLength(2);
  });

  test('never fills up a batch with clients that cannot continue, while there are aware ones', () => {
    const all = [transfer(3), ...Array.from({ length: 49 }, (_, i) => transfer(i, false))];
    expect(chooseOffload(all, 10)).toEqual([transfer(3)]);
  });

  test('whatever runs: aware clients only, as long as one runs; never more than the excess', () => {
    const transfers = fc.array(fc.record({ aware: fc.boolean(), remainingBytes: fc.nat(1000) }), {
      maxLength: 80,
    });
    fc.assert(
      fc.property(transfers, fc.nat(80), (all, limit) => {
        const chosen = chooseOffload(all, limit);
        const excess = Math.max(0, all.length - limit);
        expect(chosen.length).toBeLessThanOrEqual(excess);
        // A node above its limit always resets something.
        expect(chosen.length > 0).toBe(excess > 0);
        expect(new Set(chosen).size).toBe(chosen.length);
        if (!all.some(({ aware }) => aware)) return;
        expect(chosen.every(({ aware }) => aware)).toBe(true);
        const least = Math.min(...chosen.map(({ remainingBytes }) => remainingBytes));
        const spared = all.filter((t) => t.aware && !chosen.includes(t));
        for (const { remainingBytes } of spared) expect(remainingBytes).toBeLessThanOrEqual(least);
      }),
    );
  });
});
