import { expect, test } from '@jest/globals';
import { FlowClock } from './flow-clock.ts';

test('stands still from the first read that waits to the last', () => {
  const clock = new FlowClock();
  expect(clock.at(100)).toBe(100);
  clock.hold(100);
  clock.hold(150);
  expect(clock.at(180)).toBe(100);
  clock.release(200);
  expect([clock.isHeld, clock.at(210)]).toEqual([true, 100]);
  clock.release(300);
  expect([clock.isHeld, clock.at(350)]).toEqual([false, 150]);
});
