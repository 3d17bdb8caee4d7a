/** Sizes, rates, times and shares as the reader of a language expects them. */

import type { Text } from './text.ts';

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
/** Figure and unit stay on one line. */
const SPACE = '\u00a0';
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** A size with three significant digits at most: `1.5 MiB`. */
export function bytes(text: Text, value: number): string {
  let rest = Math.max(0, value);
  let unit = 0;
  while (rest >= 999.5 && unit < UNITS.length - 1) {
    rest /= 1024;
    unit++;
  }
  const digits = unit === 0 || rest >= 99.95 ? 0 : rest >= 9.995 ? 1 : 2;
  return `${text.number(rest, digits)}${SPACE}${UNITS[unit]}`;
}

/** Bytes per second. */
export function rate(text: Text, value: number): string {
  return `${bytes(text, value)}/s`;
}

/** A share from 0 to 1. What is not all there is never shown as 100 %. */
export function percent(text: Text, share: number): string {
  const whole = Math.min(100, Math.max(0, Math.floor(share * 100)));
  return text.language === 'de' ? `${whole}${SPACE}%` : `${whole}%`;
}

/** A span of time as a clock shows it: `0:07`, `12:34`, `3:04:05`; `2 d 3 h` from a day on. */
export function duration(ms: number): string {
  const total = Math.max(0, Math.round(ms / 1000));
  const pad = (n: number) => String(n).padStart(2, '0');
  const hours = Math.floor(total / 3600);
  const minutes = Math.floor((total % 3600) / 60);
  if (hours >= 24) return `${Math.floor(hours / 24)}${SPACE}d ${hours % 24}${SPACE}h`;
  if (hours > 0) return `${hours}:${pad(minutes)}:${pad(total % 60)}`;
  return `${minutes}:${pad(total % 60)}`;
}

/**
 * A moment as people say it: just now, 5 minutes ago, today 14:02, 3 March 14:02.
 *
 * @param at Unix milliseconds, as `now`
 */
export function when(text: Text, at: number, now: number): string {
  const ago = now - at;
  if (ago >= 0 && ago < MINUTE_MS) return text.t('when.now');
  if (ago >= 0 && ago < HOUR_MS) {
    const relative = new Intl.RelativeTimeFormat(text.locale, { numeric: 'always' });
    return relative.format(-Math.floor(ago / MINUTE_MS), 'minute');
  }
  const time = clock(text, at);
  const days = dayNumber(now) - dayNumber(at);
  if (days === 0) return text.t('when.today', { time });
  if (days === 1) return text.t('when.yesterday', { time });
  const year = new Date(at).getFullYear() === new Date(now).getFullYear() ? undefined : 'numeric';
  const format = { day: 'numeric', month: 'short', year } as const;
  return `${new Intl.DateTimeFormat(text.locale, format).format(at)}, ${time}`;
}

/** A day and time in full, for where there is room. */
export function dateTime(text: Text, at: number): string {
  const style = { dateStyle: 'medium', timeStyle: 'medium' } as const;
  return new Intl.DateTimeFormat(text.locale, style as Intl.DateTimeFormatOptions).format(at);
}

/** A time of day: `14:02`. */
export function clock(text: Text, at: number): string {
  return new Intl.DateTimeFormat(text.locale, {
    hour: '2-digit',
    minute: '2-digit',
    hour12: false,
  }).format(at);
}

/** A time of day to the second. */
export function clockSeconds(text: Text, at: number): string {
  const style = { hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false } as const;
  return new Intl.DateTimeFormat(text.locale, style).format(at);
}

function dayNumber(at: number): number {
  const date = new Date(at);
  return Math.round(
    new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime() / DAY_MS,
  );
}

/** The host of a URL; the text itself where it is none. */
export function hostOf(url: string): string {
  try {
    return new URL(url).host;
  } catch {
    return url;
  }
}

/** A hash algorithm as it is written: `SHA-256`. @param name as the daemon has it: `sha256` */
export function algorithmName(name: string): string {
  return name.replace(/^sha-?/, 'SHA-').toUpperCase();
}
