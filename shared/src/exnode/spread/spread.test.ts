import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { blockBytesFor } from '../exnode.ts';
import { planSpread } from './spread.ts';

const MIB = 2 ** 20;

test('a spread file has each byte in as many different depots as asked for, evenly', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.integer({ min: 1, max: 300 * MIB }), fc.integer({ min: 1, max: 2 ** 37 })),
      fc.integer({ min: 1, max: 9 }),
      fc.integer({ min: 1, max: 9 }),
      (size, depots, wanted) => {
        const copies = Math.min(depots, wanted);
        const plan = planSpread(size, depots, copies);
        const stored = Array.from({ length: depots }, () => 0);
        let at = 0;
        for (const { start, end, depots: chosen } of plan) {
          expect(start).toBe(at);
          at = end;
          if (end < size) expect(end % blockBytesFor(size)).toBe(0);
          expect(new Set(chosen).size).toBe(copies);
          for (const depot of chosen) stored[depot] = (stored[depot] ?? 0) + end - start;
        }
        expect(at).toBe(size);
        const longest = Math.max(...plan.map(({ start, end }) => end - start));
        expect(Math.max(...stored) - Math.min(...stored)).toBeLessThanOrEqual(longest);
        expect(longest).toBeLessThanOrEqual(copies === depots ? size : 1024 * MIB + 2 ** 34);
      },
    ),
  );
});

test('a copy at every depot is one extent, and an empty file has none', () => {
  expect(planSpread(5000 * MIB, 3, 3)).toEqual([{ start: 0, end: 5000 * MIB, depots: [0, 1, 2] }]);
  expect(planSpread(0, 3, 1)).toEqual([]);
});
