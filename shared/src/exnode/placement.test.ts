import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { rangeBytes } from '../base/byte-range.ts';
import { seededRandom } from '../base/clock.ts';
import { type Placed, Placement } from './placement.ts';
import { planSpread } from './spread.ts';

const MiB = 2 ** 20;

describe('Placement', () => {
  test('moves the extents of a depot that refuses to those that store the least', () => {
    const placement = new Placement(planSpread(4 * MiB, 4, 1), 4);
    const first = placement.next(0) as Placed;
    expect(placement.onLost(1)).toBe(true);
    expect(placement.next(1)).toBeUndefined();
    placement.onStored(first);
    const counts = [0, 1, 2, 3].map(
      (depot) => placement.tasks.filter((task) => task.depot === depot).length,
    );
    expect(counts).toEqual([2, 0, 1, 1]);
    expect(placement.onLost(0)).toBe(true);
    // The extent that it has stored counts.
    expect(placement.tasks.filter(({ depot }) => depot === 0)).toEqual([first]);
  });

  test('says when too few depots are left for as many copies', () => {
    const placement = new Placement(planSpread(MiB, 2, 2), 2);
    expect(placement.onLost(1)).toBe(false);
  });

  test('whatever depots fail, each extent is stored as often as planned, or that is said', () => {
    const sizes = fc.integer({ min: 0, max: 40 * MiB });
    const counts = fc.integer({ min: 1, max: 6 });
    fc.assert(
      fc.property(sizes, counts, counts, fc.integer(), (size, depots, some, seed) => {
        const copies = Math.min(some, depots);
        const random = seededRandom(seed);
        const plan = planSpread(size, depots, copies);
        const placement = new Placement(plan, depots);
        const underWay = new Map<number, Placed>();
        while (!placement.isDone) {
          const depot = Math.floor(random() * depots);
          const task = underWay.get(depot);
          underWay.delete(depot);
          if (task === undefined) {
            const next = placement.next(depot);
            if (next !== undefined) underWay.set(depot, next);
          } else if (random() < 0.1) {
            if (!placement.onLost(depot)) return;
          } else placement.onStored(task);
        }
        for (const extent of plan) {
          const its = placement.tasks.filter((task) => task.extent === extent);
          expect(new Set(its.map(({ depot }) => depot)).size).toBe(copies);
        }
        const stored = placement.tasks.reduce((sum, one) => sum + rangeBytes(one.extent), 0);
        expect(stored).toBe(size * copies);
      }),
    );
  });
});
