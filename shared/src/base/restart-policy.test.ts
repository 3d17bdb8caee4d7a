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

test('at once, then more slowly, then no more', () => {
  expect(run([0, 1000, 2000, 3000, 4000])).toEqual([
    { kind: 'restart', afterMs: 0 },
    { kind: 'restart', afterMs: 500 },
    { kind: 'restart', afterMs: 1000 },
    { kind: 'restart', afterMs: 2000 },
    { kind: 'give-up' },
  ]);
});

test('an end now and then is always made good at once', () => {
  const hourly = Array.from({ length: 50 }, (_, i) => i * 3_600_000);
  expect(new Set(run(hourly).map((next) => JSON.stringify(next))).size).toBe(1);
});

test('what is remembered does not grow', () => {
  let ends: Ends = [];
  for (let now = 0; now < 1e8; now += 60_000) ends = afterEnd(ends, now).ends;
  expect(ends.length).toBeLessThan(5);
});
