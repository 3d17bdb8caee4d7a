import { expect, test } from '@jest/globals';
import { type AfterEnd, afterEnd, type Ends } from './restart-policy.ts';

function run(times: readonly number[]): AfterEnd[] {
  let ends: Ends = [];
  return times.map((now) => {
    const result = afterEnd(ends, now);
    ends = result.ends;
    return result.next;
  });
}

test('restarts at once, then after growing pauses, then gives up', () => {
  expect(run([0, 1000, 2000, 3000, 4000])).toEqual([
    { kind: 'restart', afterMs: 0 },
    { kind: 'restart', afterMs: 500 },
    { kind: 'restart', afterMs: 1000 },
    { kind: 'restart', afterMs: 2000 },
    { kind: 'give-up' },
  ]);
});

test('rare ends are always followed by a restart at once', () => {
  const hourly = Array.from({ length: 50 }, (_, i) => i * 3_600_000);
  expect(new Set(run(hourly).map((next) => JSON.stringify(next))).size).toBe(1);
});

test('the list of remembered ends stays bounded', () => {
  let ends: Ends = [];
  for (let now = 0; now < 1e8; now += 60_000) ends = afterEnd(ends, now).ends;
  expect(ends.length).toBeLessThan(5);
});
