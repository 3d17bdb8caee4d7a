import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { AwakeClock } from './awake-clock.ts';

const MAX_STEP_MS = 250;

describe('AwakeClock', () => {
  test('follows the time while it ticks', () => {
    const clock = new AwakeClock(1000, MAX_STEP_MS);
    for (let now = 1100; now <= 5000; now += 100) clock.tick(now);
    expect(clock.read(5050)).toBe(5050);
  });

  test('counts at most one step of a standstill', () => {
    const clock = new AwakeClock(1000, MAX_STEP_MS);
    expect(clock.read(9000)).toBe(1250);
    clock.tick(9000);
    expect(clock.read(9000)).toBe(1250);
    expect(clock.read(9100)).toBe(1350);
  });

  test('never goes back, whenever it ticks and is read', () => {
    const steps = fc.array(
      fc.record({ ms: fc.integer({ min: 0, max: 2000 }), tick: fc.boolean() }),
    );
    fc.assert(
      fc.property(steps, (all) => {
        const clock = new AwakeClock(0, MAX_STEP_MS);
        let now = 0;
        let before = clock.read(now);
        for (const { ms, tick } of all) {
          now += ms;
          if (tick) clock.tick(now);
          const read = clock.read(now);
          expect(read).toBeGreaterThanOrEqual(before);
          expect(read - before).toBeLessThanOrEqual(ms);
          before = read;
        }
      }),
    );
  });
});
