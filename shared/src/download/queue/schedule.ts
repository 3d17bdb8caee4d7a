/**
 * The schedule: windows of the week in which downloads pause or are slower. Windows follow the
 * local wall clock, even on days with a change to or from summer time.
 */

import type { Millis } from '../../base/clock.ts';

export const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const;
type Day = (typeof DAYS)[number];

export interface ScheduleWindow {
  /** Days on which the window begins, at least one. */
  readonly days: readonly Day[];
  /** Minutes after midnight, 0 to 1439. */
  readonly fromMinute: number;
  /** Minutes after midnight, 0 to 1439; if not after `fromMinute`, on the next day. */
  readonly toMinute: number;
  /** pause: nothing runs; a number: bytes per second for all downloads together. */
  readonly effect: 'pause' | number;
}

/** The effect of the schedule at a point in time. */
export interface ScheduleState {
  /** free: no window is open; otherwise the strictest effect of the open windows. */
  readonly effect: 'free' | 'pause' | number;
  /** When the effect changes; undefined: never. */
  readonly nextChangeAt: Millis | undefined;
}

/** Returns how far the wall clock is ahead of UTC, in minutes (east is positive). */
export type UtcOffset = (at: Millis) => number;

export const MAX_WINDOWS = 100;

const MINUTE_MS = 60_000;
const DAY_MINUTES = 1440;
const DAY_MS = DAY_MINUTES * MINUTE_MS;
/** Days searched for the next change: every window opens or closes within a week and a day. */
const HORIZON_DAYS = 9;

/** Finds the effect at a point in time, and its next change. @param now Unix milliseconds */
export function scheduleAt(
  windows: readonly ScheduleWindow[],
  now: Millis,
  offset: UtcOffset,
): ScheduleState {
  const effect = effectAt(windows, now, offset);
  for (const at of candidates(windows, now, offset)) {
    if (effectAt(windows, at, offset) !== effect) return { effect, nextChangeAt: at };
  }
  return { effect, nextChangeAt: undefined };
}

/** Returns the strictest effect of the windows that are open at a point in time. */
export function effectAt(
  windows: readonly ScheduleWindow[],
  at: Millis,
  offset: UtcOffset,
): 'free' | 'pause' | number {
  const wall = at + offset(at) * MINUTE_MS;
  const day = Math.floor(wall / DAY_MS);
  const minute = Math.floor((wall - day * DAY_MS) / MINUTE_MS);
  let effect: 'free' | 'pause' | number = 'free';
  for (const window of windows) {
    if (!isOpen(window, day, minute)) continue;
    if (window.effect === 'pause') return 'pause';
    effect = effect === 'free' ? window.effect : Math.min(effect as number, window.effect);
  }
  return effect;
}

function isOpen({ days, fromMinute, toMinute }: ScheduleWindow, day: number, minute: number) {
  const begins = (d: number) => days.includes(weekday(d));
  if (fromMinute < toMinute) return begins(day) && minute >= fromMinute && minute < toMinute;
  return (begins(day) && minute >= fromMinute) || (begins(day - 1) && minute < toMinute);
}

/** @param day days since 1 January 1970, which was a Thursday */
function weekday(day: number): Day {
  return DAYS[(((day + 4) % 7) + 7) % 7] as Day;
}

/** Lists the moments after now, in order, at which the effect may change. */
function candidates(
  windows: readonly ScheduleWindow[],
  now: Millis,
  offset: UtcOffset,
): readonly Millis[] {
  const minutes = new Set(windows.flatMap((w) => [w.fromMinute, w.toMinute]));
  // At midnight the day changes, which may open or close any window.
  if (windows.length > 0) minutes.add(0);
  const today = Math.floor((now + offset(now) * MINUTE_MS) / DAY_MS);
  const found = new Set<Millis>();
  for (let day = today - 1; day <= today + HORIZON_DAYS; day++) {
    const begin = day * DAY_MS;
    const [early, late] = [offset(begin - DAY_MS), offset(begin + 2 * DAY_MS)];
    for (const minute of minutes) {
      // On a day with a clock change, a wall-clock time may occur twice or not at all.
      const wall = begin + minute * MINUTE_MS;
      found.add(wall - early * MINUTE_MS);
      found.add(wall - late * MINUTE_MS);
    }
    if (early !== late) found.add(transition(begin - DAY_MS, begin + 2 * DAY_MS, offset));
  }
  return [...found].filter((at) => at > now).sort((a, b) => a - b);
}

/** Finds the first time with another offset than at `low`. */
function transition(low: Millis, high: Millis, offset: UtcOffset): Millis {
  const before = offset(low);
  let [from, to] = [low, high];
  while (to - from > 1) {
    const middle = Math.floor((from + to) / 2);
    if (offset(middle) === before) from = middle;
    else to = middle;
  }
  return to;
}

/** Writes minutes after midnight as `HH:MM`. */
export function formatMinute(minute: number): string {
  const pad = (n: number) => String(n).padStart(2, '0');
  return `${pad(Math.floor(minute / 60))}:${pad(minute % 60)}`;
}

/** Reads `HH:MM`, 00:00 to 23:59; 24:00 is midnight. @returns undefined if it is not a time */
export function parseMinute(text: string): number | undefined {
  const match = /^([01]?\d|2[0-4]):([0-5]\d)$/.exec(text);
  if (match === null) return undefined;
  const minute = Number(match[1]) * 60 + Number(match[2]);
  if (minute > DAY_MINUTES) return undefined;
  return minute % DAY_MINUTES;
}
