import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { columnsOf, unitsOf } from './coded.ts';
import type { CodedExtent } from './exnode.ts';
import { columnOf, columnWith, solvableBlocks } from './row-solver.ts';

/** Blocks of 2 bytes; shards without replicas. */
const drawn = fc.record({
  data: fc.integer({ min: 1, max: 5 }),
  parity: fc.integer({ min: 1, max: 3 }),
  unit: fc.integer({ min: 1, max: 3 }),
  blocks: fc.integer({ min: 1, max: 50 }),
  dead: fc.array(fc.nat(7), { maxLength: 5 }),
  order: fc.infiniteStream(fc.nat()),
});

test('blocks of dead places are solved once the rest of their column is there, and no others are', () => {
  fc.assert(
    fc.property(
      drawn,
      fc.boolean(),
      ({ data, parity, unit, blocks, dead: drawnDead, order }, isUrgent) => {
        const dead = new Set(drawnDead.filter((shard) => shard < data + parity));
        const layout = { start: 0, end: 2 * blocks - 1, data, parity, unit: 2 * unit };
        const extent: CodedExtent = { ...layout, parityHexes: [], shards: [] };
        const owner = new Map<number, number>();
        for (let shard = 0; shard < data; shard++) {
          for (const { start, end } of unitsOf(layout, shard)) {
            for (let at = start; at < end; at += 2) owner.set(at, shard);
          }
        }
        const proven = new Set<number>();
        const usable = Array.from({ length: parity }, (_, j) => j).filter(
          (j) => !dead.has(data + j),
        );
        const state = {
          isProven: ({ start }: { start: number }) => proven.has(start),
          canCome: ({ start }: { start: number }) => !dead.has(owner.get(start) ?? -1),
          isLate: () => false,
          parityOf: () => usable,
          isUrgent: () => isUrgent,
        };
        for (;;) {
          const solvable = solvableBlocks([extent], 2, state);
          for (const block of solvable) {
            expect([state.canCome(block), state.isProven(block)]).toEqual([false, false]);
            const column = columnWith([extent], 2, block.start, state);
            expect(column?.lacking.length).toBeLessThanOrEqual(usable.length);
            expect(column?.lacking.map(([, { start }]) => start)).toContain(block.start);
          }
          // Either a place brings a block, or one is solved.
          const coming = [...owner.keys()].filter(
            (start) => !proven.has(start) && state.canCome({ start }),
          );
          const next = [...coming, ...solvable.map(({ start }) => start)];
          if (next.length === 0) break;
          proven.add(next[(order.next().value as number) % next.length] as number);
        }
        for (let number = 0; number < columnsOf(extent, 2); number++) {
          const { lacking } = columnOf(extent, 2, number, () => false);
          const lost = lacking.filter(([, block]) => !state.canCome(block));
          const left = lacking.filter(([, block]) => !state.isProven(block));
          expect(left.length).toBe(lost.length <= usable.length ? 0 : lost.length);
        }
      },
    ),
  );
});

test('late blocks are solved only where all else of their column is known', () => {
  fc.assert(
    fc.property(drawn, fc.array(fc.nat(4)), ({ data, parity, unit, blocks, dead }, slow) => {
      const layout = { start: 0, end: 2 * blocks, data, parity, unit: 2 * unit };
      const extent: CodedExtent = { ...layout, parityHexes: [], shards: [] };
      const shardOf = (start: number) => Math.floor(start / (2 * unit)) % data;
      const state = {
        isProven: ({ start }: { start: number }) => (start * 7 + data) % 3 === 0,
        canCome: ({ start }: { start: number }) => !dead.includes(shardOf(start)),
        isLate: ({ start }: { start: number }) => slow.includes(shardOf(start)),
        parityOf: () => Array.from({ length: parity }, (_, j) => j),
        isUrgent: () => false,
      };
      const solved = new Set(solvableBlocks([extent], 2, state).map(({ start }) => start));
      const alone = solvableBlocks([extent], 2, { ...state, isLate: () => false });
      for (const { start } of alone) expect(solved.has(start)).toBe(true);
      for (let number = 0; number < columnsOf(extent, 2); number++) {
        const lacking = columnOf(extent, 2, number, state.isProven).lacking.map(([, b]) => b);
        const late = lacking.filter((block) => state.isLate(block) && state.canCome(block));
        const isKnown = lacking.every((block) => state.isLate(block) || !state.canCome(block));
        const isSolved = isKnown && lacking.length <= parity;
        for (const block of late) expect(solved.has(block.start)).toBe(isSolved);
      }
    }),
  );
});
