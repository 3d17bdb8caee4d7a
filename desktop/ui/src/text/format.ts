/** Formats sizes, rates, times and shares as the readers of a language expect them. */

import type { Text } from './text.ts';

export { bytes, duration, hostOf, percent, rate } from '@millrace/shared/text/figures';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const DAY = { day: 'numeric', month: 'short' } as const;
const DAY_AND_YEAR = { ...DAY, year: 'numeric' } as const;
const DATE_TIME = { dateStyle: 'medium', timeStyle: 'medium' } as const;
const CLOCK = { hour: '2-digit', minute: '2-digit', hour12: false } as const;
const CLOCK_SECONDS = { ...CLOCK, second: '2-digit' } as const;

/**
 * Returns a moment as people say it: just now, 5 minutes ago, today 14:02, 3 March 14:02.
 *
 * @param at Unix milliseconds, as `now`
 */
export function when(text: Text, at: number, now: number): string {
  const ago = now - at;
  if (ago >= 0 && ago < MINUTE_MS) return text.t('when.now');
  if (ago >= 0 && ago < HOUR_MS) return text.minutesAgo(Math.floor(ago / MINUTE_MS));
  const time = clock(text, at);
  const days = dayNumber(now) - dayNumber(at);
  if (days === 0) return text.t('when.today', { time });
  if (days === 1) return text.t('when.yesterday', { time });
  const thisYear = new Date(at).getFullYear() === new Date(now).getFullYear();
  return `${text.date(at, thisYear ? DAY : DAY_AND_YEAR)}, ${time}`;
}

/** Returns a day and time in full, for where there is room. */
export function dateTime(text: Text, at: number): string {
  return text.date(at, DATE_TIME);
}

/** Returns a time of day: `14:02`. */
export function clock(text: Text, at: number): string {
  return text.date(at, CLOCK);
}

/** Returns a time of day to the second. */
export function clockSeconds(text: Text, at: number): string {
  return text.date(at, CLOCK_SECONDS);
}

function dayNumber(at: number): number {
  const date = new Date(at);
  return Math.round(
    new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime() / DAY_MS,
  );
}

/** Returns a hash algorithm as it is written: `SHA-256`. @param name the daemon's name: `sha256` */
export function algorithmName(name: string): string {
  return name.replace(/^sha-?/, 'SHA-').toUpperCase();
}
