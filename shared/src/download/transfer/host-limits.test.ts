import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { LearnedHostLimits, MAX_HOSTS, MAX_PER_HOST } from './host-limits.ts';

const HOUR = 3600_000;
const T0 = 1_800_000_000_000;

describe('learned limits', () => {
  test('a host that has never refused has no limit of its own', () => {
    const limits = new LearnedHostLimits();
    expect(limits.limit('a', T0)).toBe(MAX_PER_HOST);
    expect(limits.onServed('a', 8, T0)).toBe(false);
    expect(limits.known).toEqual([]);
  });

  test('a refusal halves the number of requests; several refusals together count once', () => {
    const limits = new LearnedHostLimits();
    expect(limits.onRefused('a', 8, T0)).toBe(true);
    for (let i = 1; i < 8; i++) limits.onRefused('a', 8 - i, T0 + i);
    expect(limits.limit('a', T0)).toBe(4);
    limits.onRefused('a', 4, T0 + 10_000);
    expect(limits.limit('a', T0)).toBe(2);
    for (let i = 2; i < 9; i++) limits.onRefused('a', 2, T0 + i * 10_000);
    expect(limits.limit('a', T0)).toBe(1);
    expect(limits.limit('b', T0)).toBe(MAX_PER_HOST);
  });

  test('a refusal of a single request does not lower the limit', () => {
    const limits = new LearnedHostLimits();
    expect(limits.onRefused('a', 1, T0)).toBe(false);
    expect(limits.limit('a', T0)).toBe(MAX_PER_HOST);
  });

  test('the limit rises by one a minute, only while it is fully used', () => {
    const limits = new LearnedHostLimits();
    limits.onRefused('a', 8, T0);
    expect(limits.onServed('a', 4, T0 + 59_999)).toBe(false);
    expect(limits.onServed('a', 3, T0 + 60_000)).toBe(false);
    expect(limits.onServed('a', 4, T0 + 60_000)).toBe(true);
    expect(limits.limit('a', T0)).toBe(5);
    expect(limits.onServed('a', 5, T0 + 60_001)).toBe(false);
  });

  test('Retry-After is obeyed, up to a day', () => {
    const limits = new LearnedHostLimits();
    expect(limits.onRefused('a', 1, T0, 30_000)).toBe(true);
    expect(limits.restsUntil('a', T0)).toBe(T0 + 30_000);
    // A shorter rest that is announced later does not shorten the first.
    limits.onRefused('a', 1, T0 + 1, 1000);
    expect(limits.restsUntil('a', T0 + 1)).toBe(T0 + 30_000);
    expect(limits.restsUntil('a', T0 + 40_000)).toBe(T0 + 40_000);
    limits.onRefused('a', 1, T0, 365 * 24 * HOUR);
    expect(limits.restsUntil('a', T0)).toBe(T0 + 24 * HOUR);
  });

  test('the next run remembers a limit for two weeks', () => {
    const before = new LearnedHostLimits();
    before.onRefused('a', 8, T0, 5000);
    const after = new LearnedHostLimits(before.known);
    expect(after.limit('a', T0 + HOUR)).toBe(4);
    expect(after.restsUntil('a', T0)).toBe(T0 + 5000);
    expect(after.limit('a', T0 + 15 * 24 * HOUR)).toBe(MAX_PER_HOST);
    after.forget('a');
    expect(after.limit('a', T0)).toBe(MAX_PER_HOST);
  });

  test('a time noted by a clock far ahead blocks nothing', () => {
    const before = new LearnedHostLimits();
    before.onRefused('a', 8, T0 + 1000 * HOUR, HOUR);
    const after = new LearnedHostLimits(before.known);
    expect(after.restsUntil('a', T0)).toBe(T0);
    after.onServed('a', 4, T0);
    expect(after.onServed('a', 4, T0 + 60_000)).toBe(true);
  });

  test('the number of hosts is bounded: the host that refused longest ago is forgotten first', () => {
    const limits = new LearnedHostLimits();
    for (let i = 0; i <= MAX_HOSTS; i++) limits.onRefused(`host-${i}`, 8, T0 + i);
    expect(limits.known).toHaveLength(MAX_HOSTS);
    expect(limits.get('host-0')).toBeUndefined();
  });

  test('whatever happens, a limit stays from 1 to MAX_PER_HOST, and a refusal never raises it', () => {
    const step = fc.record({
      refused: fc.boolean(),
      active: fc.integer({ min: 0, max: 64 }),
      later: fc.integer({ min: -HOUR, max: HOUR }),
      rest: fc.integer({ min: -1, max: 2 * HOUR }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 50 }), (steps) => {
        const limits = new LearnedHostLimits();
        let now = T0;
        for (const { refused, active, later, rest } of steps) {
          now += later;
          const before = limits.limit('a', now);
          if (refused) limits.onRefused('a', active, now, rest);
          else limits.onServed('a', active, now);
          const after = limits.limit('a', now);
          expect(after).toBeGreaterThanOrEqual(1);
          expect(after).toBeLessThanOrEqual(MAX_PER_HOST);
          if (refused) expect(after).toBeLessThanOrEqual(before);
          else expect(after - before).toBeLessThanOrEqual(1);
          expect(limits.restsUntil('a', now)).toBeLessThanOrEqual(now + 24 * HOUR);
        }
      }),
    );
  });
});
