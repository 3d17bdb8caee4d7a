import { expect, test } from '@jest/globals';
import { GuessLimit } from './guess-limit.ts';

test('a few wrong guesses cost nothing; each further one waits longer, up to a limit', () => {
  const limit = new GuessLimit();
  let now = 1_000_000;
  const waits: number[] = [];
  for (let guess = 0; guess < 9; guess++) {
    limit.onWrong(now);
    waits.push(limit.waitMs(now));
    now += limit.waitMs(now);
    expect(limit.waitMs(now)).toBe(0);
  }
  expect(waits).toEqual([0, 0, 0, 1000, 2000, 4000, 8000, 8000, 8000]);
});

test('a right guess, or a long time, clears the wrong ones', () => {
  const limit = new GuessLimit();
  for (let guess = 0; guess < 3; guess++) limit.onWrong(1000);
  limit.onRight();
  limit.onWrong(2000);
  expect(limit.waitMs(2000)).toBe(0);
  for (let guess = 0; guess < 3; guess++) limit.onWrong(3000);
  limit.onWrong(10_000_000);
  expect(limit.waitMs(10_000_000)).toBe(0);
});
