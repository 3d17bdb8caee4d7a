import { expect, test } from '@jest/globals';
import { AwaitedPace } from './awaited-pace.ts';

/** At least 100 bytes in each second. */
const pace = () => new AwaitedPace(1000, 100, 5000);

test('a sender that drips is too slow when the window is over, and not before', () => {
  const slow = pace();
  slow.came(99);
  expect([slow.least, slow.tooSlow(5999), slow.tooSlow(6000)]).toEqual([100, false, true]);
});

test('each window is measured by itself', () => {
  const burst = pace();
  burst.came(1_000_000);
  expect(burst.tooSlow(6000)).toBe(false);
  expect(burst.tooSlow(6999)).toBe(false);
  expect(burst.tooSlow(7000)).toBe(true);
});

test('the time in which the reader takes nothing does not count against the sender', () => {
  const paused = pace();
  paused.pause(5400);
  paused.pause(5500);
  expect(paused.tooSlow(1_000_000)).toBe(false);
  paused.resume(1_000_000);
  paused.resume(1_000_100);
  expect([paused.awaitedMs(1_000_599), paused.tooSlow(1_000_599)]).toEqual([999, false]);
  expect(paused.tooSlow(1_000_600)).toBe(true);
});

test('a reader that pauses in between does not let a sender drip for ever', () => {
  const both = pace();
  const slow: number[] = [];
  for (let at = 5000; at < 8000; at += 100) {
    both.came(1);
    both.pause(at + 50);
    if (both.tooSlow(at + 50)) slow.push(at + 50);
    both.resume(at + 100);
  }
  expect(slow).toEqual([6950]);
});
