import { expect, test } from '@jest/globals';
import { Liveliness } from './liveliness.ts';

test('finds no life three seconds after the last bytes', () => {
  const liveliness = new Liveliness(0);
  expect(liveliness.isLifeless(3000)).toBe(false);
  expect(liveliness.isLifeless(3001)).toBe(true);
  liveliness.onBytes(4096, 3001);
  expect(liveliness.isLifeless(6000)).toBe(false);
});

test('finds no life although single bytes drip in', () => {
  const liveliness = new Liveliness(0);
  for (let now = 0; now <= 6000; now += 200) liveliness.onBytes(1, now);
  expect(liveliness.isLifeless(6000)).toBe(true);
});

test('finds life where bytes come in small pieces', () => {
  const liveliness = new Liveliness(0);
  for (let now = 0; now <= 6000; now += 200) liveliness.onBytes(1000, now);
  expect(liveliness.isLifeless(6000)).toBe(false);
});

test('counts only the time in which something was asked for', () => {
  const liveliness = new Liveliness(0);
  liveliness.pause(2000);
  expect(liveliness.isLifeless(60_000)).toBe(false);
  liveliness.resume(60_000);
  expect(liveliness.isLifeless(61_000)).toBe(false);
  liveliness.pause(61_001);
  liveliness.resume(70_000);
  // It dripped before: a new request alone shows no life.
  expect(liveliness.isLifeless(70_000)).toBe(true);
});
