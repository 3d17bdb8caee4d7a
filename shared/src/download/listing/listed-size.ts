/** Reads sizes as listings of folders write them beside the names. */

const UNITS = 'KMGTP';
/** Dates of Apache, lighttpd, nginx, Caddy, with their times. */
const DATES =
  /\b(?:\d{4}[-/](?:\d{2}|[A-Za-z]{3})[-/]\d{2}|\d{2}-[A-Za-z]{3}-\d{4})(?:[ T]+\d{2}:\d{2}(?::\d{2})?Z?)?/g;
const SIZE = /^\s*(\d{1,16}(?:\.\d{1,6})?)\s{0,3}(?:([KMGTP])i?B?|B|bytes?)?(?=\s|$)/i;
/** Longest text beside a name that is read, in characters. */
const MAX_CHARS = 400;

/**
 * Reads a size from the text that follows a name. Units are powers of 1024, as all these servers
 * mean them.
 *
 * @returns bytes; undefined if the text does not begin with a size, besides dates
 */
export function listedSize(text: string): number | undefined {
  const match = SIZE.exec(text.slice(0, MAX_CHARS).replace(DATES, ' '));
  if (match === null) return undefined;
  const [, digits, unit] = match;
  const power = unit === undefined ? 0 : 1 + UNITS.indexOf(unit.toUpperCase());
  const bytes = Math.round(Number(digits) * 1024 ** power);
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}
