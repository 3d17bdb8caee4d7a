/** Retry-After (RFC 9110 10.2.3). */

import { parseHttpDate } from './http-date.ts';

/**
 * Reads a Retry-After field: seconds or a date.
 *
 * @param now Unix milliseconds
 * @returns milliseconds to wait, 0 or more; undefined if absent or malformed
 */
export function parseRetryAfter(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined;
  const text = value.trim();
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  const date = parseHttpDate(text);
  return date === undefined ? undefined : Math.max(0, date - now);
}
