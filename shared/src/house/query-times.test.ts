import { expect, test } from '@jest/globals';
import { QueryTimes } from './query-times.ts';

test('a link is asked soon, then ever more rarely, up to once an hour', () => {
  const times = new QueryTimes(() => 0.5, 1000);
  let now = times.nextAt(undefined);
  expect(now).toBe(1070);
  const gaps: number[] = [];
  for (let i = 0; i < 16; i++) {
    times.onQueried(now);
    gaps.push(times.nextAt(undefined) - now);
    now = times.nextAt(undefined);
  }
  expect(gaps.slice(0, 4).map(Math.round)).toEqual([1010, 2020, 4040, 8080]);
  expect(gaps.at(-1)).toBeCloseTo(3600_000 * 1.01);
});

test('a question for an announcement that runs out delays no other', () => {
  const times = new QueryTimes(() => 0, 0);
  times.onQueried(20);
  expect(times.nextAt(500)).toBe(500);
  times.onQueried(500);
  expect(times.nextAt(undefined)).toBe(1020);
});

test('a new link is asked at once', () => {
  const times = new QueryTimes(() => 0, 0);
  for (let i = 0; i < 10; i++) times.onQueried(times.nextAt(undefined));
  times.restart(5000);
  expect(times.nextAt(undefined)).toBe(5020);
});
