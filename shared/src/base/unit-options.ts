/**
 * Reads sizes, rates and times that users give as options: a text that cannot be read is an error.
 * Interfaces, which show problems in words of their own, use units.ts.
 */

import { MillraceError } from './errors.ts';
import { readBytes, readDuration, withoutPerSecond } from './units.ts';

/** Reads a size, in bytes, as `readBytes`. @throws MillraceError `bad-option` */
export function parseBytes(text: string): number {
  const bytes = readBytes(text);
  if (bytes !== undefined) return bytes;
  throw new MillraceError('bad-option', `"${text}" is not a size such as 64K, 256MiB or 10GB`);
}

/**
 * Reads a rate such as `500K` or `2MiB/s`.
 *
 * @returns bytes per second, more than 0
 * @throws MillraceError `bad-option`
 */
export function parseRate(text: string): number {
  const bytes = parseBytes(withoutPerSecond(text));
  if (bytes === 0) throw new MillraceError('bad-option', 'a rate must be more than 0');
  return bytes;
}

/** Reads a duration, in milliseconds, as `readDuration`. @throws MillraceError `bad-option` */
export function parseDuration(text: string): number {
  const ms = readDuration(text);
  if (ms !== undefined) return ms;
  throw new MillraceError('bad-option', `"${text}" is not a duration such as 500ms, 10s or 5m`);
}
