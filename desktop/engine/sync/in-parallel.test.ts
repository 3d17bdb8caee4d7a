import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { inParallel } from './in-parallel.ts';

describe('parallel work', () => {
  test('is all done, never exceeds the number, and never exceeds the budget together', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat(10)),
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 20 }),
        async (items, atATime, budget) => {
          const done: number[] = [];
          let running = 0;
          let together = 0;
          await inParallel(items, { atATime, weight: (item) => item, budget }, async (item) => {
            running++;
            together += item;
            expect(running).toBeLessThanOrEqual(atATime);
            expect(together <= budget || running === 1).toBe(true);
            for (let turns = item % 4; turns > 0; turns--) await Promise.resolve();
            running--;
            together -= item;
            done.push(item);
          });
          expect(done.sort()).toEqual([...items].sort());
        },
      ),
    );
  });

  test('rejects once all begun work has ended, and begins nothing more', async () => {
    const begun: number[] = [];
    let over = 0;
    const all = inParallel([0, 1, 2, 3, 4], { atATime: 2 }, async (item) => {
      begun.push(item);
      await Promise.resolve();
      over++;
      if (item === 1) throw new Error('one');
    });
    await expect(all).rejects.toThrow('one');
    expect(begun.length).toBe(over);
    expect(begun).not.toContain(4);
  });
});
