import { describe, expect, test } from '@jest/globals';
import { inTurns } from './turns.ts';

/** Works through a list whose items take some time each. @returns the length of each turn, in ms */
async function turnsOf(count: number, msPerItem: number): Promise<number[]> {
  const lengths: number[] = [];
  let now = 0;
  const list = Array.from({ length: count }, (_, i) => i);
  const made = await inTurns(
    list,
    (item) => {
      now += msPerItem;
      return item;
    },
    (turn) => {
      const began = now;
      turn();
      lengths.push(now - began);
    },
    () => now,
  );
  expect(made).toEqual(list);
  return lengths;
}

describe('a long list', () => {
  test.each([
    ['10,000 slow items', 10_000, 3],
    ['items that are longer than a turn', 50, 20],
    ['10,000 quick items', 10_000, 0.001],
    ['no items', 0, 1],
  ])('takes no turn longer than 8 ms and its last item: %s', async (_what, count, msPerItem) => {
    const turns = await turnsOf(count, msPerItem);
    expect(Math.max(...turns)).toBeLessThan(8 + msPerItem);
    // Even quick items take their turns, because the clock may not see what they cost.
    expect(turns.length).toBeGreaterThanOrEqual(count / 100);
  });
});
