import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  DAYS,
  effectAt,
  formatMinute,
  parseMinute,
  type ScheduleWindow,
  scheduleAt,
  type UtcOffset,
} from './schedule.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const utc: UtcOffset = () => 0;
/** Central Europe in 2026: summer time from 29 March to 25 October, 01:00 UTC each. */
const berlin: UtcOffset = (at) =>
  at >= Date.UTC(2026, 2, 29, 1) && at < Date.UTC(2026, 9, 25, 1) ? 120 : 60;

function window(part: Partial<ScheduleWindow>): ScheduleWindow {
  return { days: DAYS, fromMinute: 0, toMinute: 0, effect: 'pause', ...part };
}
const at = (text: string) => parseMinute(text) as number;

describe('windows', () => {
  const office = window({
    days: ['mon', 'tue', 'wed', 'thu', 'fri'],
    fromMinute: at('09:00'),
    toMinute: at('17:30'),
    effect: 1000,
  });
  const friday = Date.UTC(2026, 10, 20);

  test('open and close by the clock on their days', () => {
    expect(scheduleAt([office], friday + 8 * HOUR, utc)).toEqual({
      effect: 'free',
      nextChangeAt: friday + 9 * HOUR,
    });
    expect(scheduleAt([office], friday + 9 * HOUR, utc)).toEqual({
      effect: 1000,
      nextChangeAt: friday + 17.5 * HOUR,
    });
    // Friday evening: the next window is on Monday.
    expect(scheduleAt([office], friday + 17.5 * HOUR, utc)).toEqual({
      effect: 'free',
      nextChangeAt: friday + (72 + 9) * HOUR,
    });
  });

  test('follow the local clock', () => {
    const cet: UtcOffset = () => 60;
    expect(scheduleAt([office], friday + 8 * HOUR, cet).effect).toBe(1000);
  });

  test('that end before they begin end on the next day', () => {
    const night = window({ days: ['sat'], fromMinute: at('22:00'), toMinute: at('06:00') });
    const saturday = friday + 24 * HOUR;
    expect(effectAt([night], saturday + 5 * HOUR, utc)).toBe('free');
    expect(effectAt([night], saturday + 23 * HOUR, utc)).toBe('pause');
    expect(scheduleAt([night], saturday + 29 * HOUR, utc)).toEqual({
      effect: 'pause',
      nextChangeAt: saturday + 30 * HOUR,
    });
  });

  test('from a time to the same time last a whole day', () => {
    const day = window({ days: ['fri'], fromMinute: at('12:00'), toMinute: at('12:00') });
    expect(effectAt([day], friday + 11 * HOUR, utc)).toBe('free');
    expect(scheduleAt([day], friday + 12 * HOUR, utc)).toEqual({
      effect: 'pause',
      nextChangeAt: friday + 36 * HOUR,
    });
  });

  test('that overlap apply the strictest effect', () => {
    const slow = window({ effect: 500 });
    const slower = window({ effect: 100 });
    expect(effectAt([slow, slower], friday, utc)).toBe(100);
    expect(effectAt([slow, window({}), slower], friday, utc)).toBe('pause');
  });

  test('of the whole week never change, and without windows the effect is free', () => {
    expect(scheduleAt([window({})], friday, utc)).toEqual({
      effect: 'pause',
      nextChangeAt: undefined,
    });
    expect(scheduleAt([], friday, utc)).toEqual({ effect: 'free', nextChangeAt: undefined });
  });
});

describe('summer time', () => {
  const early = window({ fromMinute: at('02:30'), toMinute: at('03:30') });

  test('a window begins at the clock change if the clock skips its time', () => {
    const before = Date.UTC(2026, 2, 29, 0, 30);
    expect(scheduleAt([early], before, berlin)).toEqual({
      effect: 'free',
      // 02:00 becomes 03:00.
      nextChangeAt: Date.UTC(2026, 2, 29, 1),
    });
    expect(scheduleAt([early], Date.UTC(2026, 2, 29, 1), berlin)).toEqual({
      effect: 'pause',
      nextChangeAt: Date.UTC(2026, 2, 29, 1, 30),
    });
  });

  test('after the clock is set back, a window is open whenever the clock shows its time', () => {
    const opens = Date.UTC(2026, 9, 25, 0, 30);
    expect(scheduleAt([early], opens - 1, berlin).nextChangeAt).toBe(opens);
    // 03:00 becomes 02:00: closed again until 02:30 comes for the second time.
    const back = Date.UTC(2026, 9, 25, 1);
    expect(scheduleAt([early], opens, berlin)).toEqual({ effect: 'pause', nextChangeAt: back });
    expect(scheduleAt([early], back, berlin).nextChangeAt).toBe(back + 30 * MINUTE);
    expect(scheduleAt([early], back + 30 * MINUTE, berlin).nextChangeAt).toBe(back + 90 * MINUTE);
  });
});

test('the next change is the first minute with another effect', () => {
  const minute = fc.integer({ min: 0, max: 47 }).map((half) => half * 30);
  const windows = fc.array(
    fc.record({
      days: fc.uniqueArray(fc.constantFrom(...DAYS), { minLength: 1 }),
      fromMinute: minute,
      toMinute: minute,
      effect: fc.oneof(fc.constant('pause' as const), fc.constantFrom(100, 200)),
    }),
    { minLength: 1, maxLength: 4 },
  );
  // Test around both clock changes, and in between.
  const near = fc.constantFrom(Date.UTC(2026, 2, 27), Date.UTC(2026, 9, 23), Date.UTC(2026, 5, 1));
  fc.assert(
    fc.property(windows, near, fc.nat(4 * 24 * 60), (some, base, minutes) => {
      const now = base + minutes * MINUTE;
      const { effect, nextChangeAt } = scheduleAt(some, now, berlin);
      const step = 30 * MINUTE;
      let t = Math.floor(now / step) * step + step;
      while (t < now + 8 * 24 * HOUR && effectAt(some, t, berlin) === effect) t += step;
      expect(nextChangeAt).toBe(t < now + 8 * 24 * HOUR ? t : undefined);
    }),
    { numRuns: 200 },
  );
});

describe('times of day', () => {
  test.each([
    ['00:00', 0],
    ['7:05', 425],
    ['23:59', 1439],
    ['24:00', 0],
  ])('%s', (text, minute) => expect(parseMinute(text)).toBe(minute));
  test.each(['', '25:00', '24:01', '12:60', '12', 'noon', '12:5'])('"%s" is not a time', (text) =>
    expect(parseMinute(text)).toBeUndefined(),
  );
  test('are read back as they were written', () => {
    for (let minute = 0; minute < 1440; minute++) {
      expect(parseMinute(formatMinute(minute))).toBe(minute);
    }
  });
});
