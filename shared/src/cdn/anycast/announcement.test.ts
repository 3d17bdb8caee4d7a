import { describe, expect, test } from '@jest/globals';
import { Announcement } from './announcement.ts';

const FINE = { takesClients: true, healthy: true };
const SICK = { takesClients: true, healthy: false };
const LEAVING = { takesClients: false, healthy: true };

const start = () => new Announcement({ riseMs: 10_000, holdMs: 30_000 });

/** An announcement that was made at 10 s. */
function announced(): Announcement {
  const one = start();
  one.observe(FINE, 0);
  expect(one.observe(FINE, 10_000)).toBe(true);
  expect(one.announced).toBe(true);
  return one;
}

describe('routes', () => {
  test('are announced once the edge has been healthy for a while', () => {
    const one = start();
    expect(one.reason).toBe('starting');
    expect(one.observe({ takesClients: false, healthy: false }, 0)).toBe(false);
    expect(one.reason).toBe('starting');
    one.observe(FINE, 1000);
    expect(one.observe(FINE, 10_999)).toBe(false);
    expect(one.observe(FINE, 11_000)).toBe(true);
    expect(one).toMatchObject({ announced: true, reason: 'healthy' });
    expect(one.observe(FINE, 12_000)).toBe(false);
  });

  test('one bad moment begins the time anew', () => {
    const one = start();
    one.observe(FINE, 0);
    one.observe(SICK, 9000);
    one.observe(FINE, 9500);
    expect(one.observe(FINE, 19_000)).toBe(false);
    expect(one.observe(FINE, 19_500)).toBe(true);
  });

  test('are withdrawn at once when the edge fails, and come back only after the hold', () => {
    const one = announced();
    expect(one.observe(SICK, 20_000)).toBe(true);
    expect(one).toMatchObject({ announced: false, reason: 'unhealthy' });
    one.observe(FINE, 21_000);
    expect(one.observe(FINE, 31_000)).toBe(false);
    expect(one.reason).toBe('held');
    expect(one.observe(FINE, 49_999)).toBe(false);
    expect(one.observe(FINE, 50_000)).toBe(true);
  });

  test('are withdrawn at once when the edge leaves, and it comes back without a hold', () => {
    const one = announced();
    expect(one.observe(LEAVING, 20_000)).toBe(true);
    expect(one).toMatchObject({ announced: false, reason: 'leaving' });
    expect(one.observe(LEAVING, 21_000)).toBe(false);
    one.observe(FINE, 22_000);
    expect(one.observe(FINE, 32_000)).toBe(true);
  });

  test('an edge that leaves while it is held stays held', () => {
    const one = announced();
    one.observe(SICK, 20_000);
    one.observe(LEAVING, 21_000);
    one.observe(FINE, 22_000);
    expect(one.observe(FINE, 40_000)).toBe(false);
    expect(one.observe(FINE, 50_000)).toBe(true);
  });

  test('an edge that fails again and again is announced at most once per hold', () => {
    const one = start();
    let announcements = 0;
    for (let second = 0; second < 600; second++) {
      const state = second % 15 === 14 ? SICK : FINE;
      if (one.observe(state, second * 1000) && one.announced) announcements++;
    }
    expect(announcements).toBeGreaterThan(0);
    expect(announcements).toBeLessThanOrEqual(600 / 30);
  });
});
