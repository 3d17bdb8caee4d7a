import { expect, test } from '@jest/globals';
import { MAX_SAMPLES, SpeedRing } from './speed-ring.ts';

const T0 = 1_700_000_000_000;

test('returns only new samples, oldest first', () => {
  const ring = new SpeedRing();
  expect(ring.since()).toEqual({ endsAt: 0, stepMs: 1000, bytesPerSecond: [] });
  for (let i = 1; i <= 3; i++) ring.add(i * 10.4, T0 + i * 1000);
  expect(ring.since()).toEqual({ endsAt: T0 + 3000, stepMs: 1000, bytesPerSecond: [10, 21, 31] });
  expect(ring.since(2).bytesPerSecond).toEqual([31]);
  expect(ring.since(3).bytesPerSecond).toEqual([]);
});

test('ten minutes are kept', () => {
  const ring = new SpeedRing();
  for (let i = 0; i < MAX_SAMPLES + 5; i++) ring.add(i, T0 + i * 1000);
  const { bytesPerSecond } = ring.since();
  expect(bytesPerSecond).toHaveLength(MAX_SAMPLES);
  expect([bytesPerSecond[0], bytesPerSecond.at(-1)]).toEqual([5, MAX_SAMPLES + 4]);
});

test('a pause of any length shows as zeros', () => {
  const ring = new SpeedRing();
  ring.add(7, T0);
  ring.add(8, T0 + 4100);
  expect(ring.since().bytesPerSecond).toEqual([7, 0, 0, 0, 8]);
  ring.add(9, T0 + 1e9);
  expect(ring.since().bytesPerSecond.filter((rate) => rate > 0)).toEqual([9]);
});

test('a clock that is set back is harmless', () => {
  const ring = new SpeedRing();
  ring.add(7, T0);
  ring.add(8, T0 - 50_000);
  expect(ring.since()).toMatchObject({ endsAt: T0 - 50_000, bytesPerSecond: [7, 8] });
});
