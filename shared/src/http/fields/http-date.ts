/**
 * HTTP dates (RFC 9110 5.6.7): the preferred form and the two obsolete ones. Some servers write other
 * letters in capitals, which leaves no doubt about the date.
 */

const MONTHS = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ');

const IMF = /^[A-Z][a-z]{2}, (\d{2}) ([A-Z][a-z]{2}) (\d{4}) (\d{2}):(\d{2}):(\d{2}) GMT$/i;
const RFC850 = /^[A-Z][a-z]{5,8}, (\d{2})-([A-Z][a-z]{2})-(\d{2}) (\d{2}):(\d{2}):(\d{2}) GMT$/i;
const ASCTIME = /^[A-Z][a-z]{2} ([A-Z][a-z]{2}) ([ \d]\d) (\d{2}):(\d{2}):(\d{2}) (\d{4})$/i;

/**
 * Reads an HTTP date.
 *
 * @returns Unix time in milliseconds, a whole number of seconds; undefined if it is not a date
 */
export function parseHttpDate(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = text.trim();
  const imf = IMF.exec(value);
  if (imf) return toTime(imf[3], imf[2], imf[1], imf[4], imf[5], imf[6]);
  const old = RFC850.exec(value);
  if (old) {
    // Two-digit years 70-99 are of the last century, like the programs that send them.
    const year = Number(old[3]);
    return toTime(String(year + (year < 70 ? 2000 : 1900)), old[2], old[1], old[4], old[5], old[6]);
  }
  const asc = ASCTIME.exec(value);
  return asc ? toTime(asc[6], asc[1], asc[2], asc[3], asc[4], asc[5]) : undefined;
}

/** Writes Unix milliseconds as an IMF-fixdate. */
export function formatHttpDate(ms: number): string {
  return new Date(ms).toUTCString();
}

function toTime(
  year: string | undefined,
  monthName: string | undefined,
  day: string | undefined,
  hour: string | undefined,
  minute: string | undefined,
  second: string | undefined,
): number | undefined {
  const month = MONTHS.indexOf((monthName ?? '').toLowerCase());
  const [d, h, m, s] = [Number(day), Number(hour), Number(minute), Number(second)];
  // 60 is a leap second.
  if (month < 0 || d < 1 || h > 23 || m > 59 || s > 60) return undefined;
  const time = Date.UTC(Number(year), month, d, h, m, s);
  // Date.UTC would silently turn 31 February into March.
  return new Date(Date.UTC(Number(year), month, d)).getUTCDate() === d ? time : undefined;
}
