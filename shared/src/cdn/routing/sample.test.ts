import { expect, test } from '@jest/globals';
import { seededRandom } from '../../base/clock.ts';
import { sample } from './sample.ts';

const items = Array.from({ length: 100 }, (_, i) => i);

test('a sample has no repeats, and every item as often as others', () => {
  const random = seededRandom(3);
  const drawn = items.map(() => 0);
  for (let i = 0; i < 10_000; i++) {
    const some = sample(items, 10, random);
    expect(new Set(some).size).toBe(10);
    for (const item of some) drawn[item] = (drawn[item] as number) + 1;
  }
  // 1,000 on average, with a standard deviation of 30.
  expect(Math.min(...drawn)).toBeGreaterThan(850);
  expect(Math.max(...drawn)).toBeLessThan(1150);
});

test('a list that is short enough is told whole', () => {
  expect(sample(items, 100, seededRandom(1))).toBe(items);
});
