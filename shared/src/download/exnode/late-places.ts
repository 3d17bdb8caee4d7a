/**
 * Decides which bytes of slow places are solved from parity instead of waited for (LOCI 5). The
 * decision is that of a takeover: by forecasts, and so that the place and the parity end together.
 * Bytes that a place has not sent yet can be solved without coming in twice.
 */

import { type ByteRange, intersect, rangeBytes } from '../../base/byte-range.ts';
import type { Millis } from '../../base/clock.ts';

/** Multiple of the time in which all could be done beyond which a place is late. */
const LATE = 2;
/** The same for a place that has been late before: it is left alone a little later. */
const STILL_LATE = 1.25;
/** Smallest gain that is worth it. */
const MIN_GAIN_MS: Millis = 250;

export interface PlaceForecast {
  readonly id: string;
  /** Bytes per second that it brings, 0 or more; undefined: it has not shown it yet. */
  readonly rate: number | undefined;
  /** Missing bytes that it has. */
  readonly restBytes: number;
}

/**
 * Finds the places that are late, and what they are left with.
 *
 * @param parity bytes per second of each depot whose parity can be asked for; undefined: not known
 * @param before places that were late at the last call
 * @returns by place, how many of its missing bytes it brings in time: the first ones
 */
export function keptByLate(
  places: readonly PlaceForecast[],
  parity: readonly (number | undefined)[],
  before: { has(id: string): boolean },
): ReadonlyMap<string, number> {
  const known = places
    .flatMap(({ id, rate, restBytes }) =>
      rate === undefined || restBytes === 0
        ? []
        : { id, rate, restBytes, ms: (restBytes * 1000) / rate },
    )
    .sort((a, b) => b.ms - a.ms);
  let best = Infinity;
  let count = 0;
  for (let n = 1; n <= Math.min(parity.length, known.length); n++) {
    const late = known.slice(0, n);
    const solved = solvedRate(parity, n, usualRate(places, late));
    const rate = late.reduce((sum, one) => sum + one.rate, solved);
    const bytes = late.reduce((sum, one) => sum + one.restBytes, 0);
    const together = rate === 0 ? Infinity : (bytes * 1000) / rate;
    // A place that is done before cannot help with the bytes of the others.
    if (together > (late.at(-1)?.ms ?? 0)) break;
    const ms = Math.max(known[n]?.ms ?? 0, together);
    if (ms < best) [best, count] = [ms, n];
  }
  const kept = new Map<string, number>();
  for (const { id, rate, ms } of known.slice(0, count)) {
    const factor = before.has(id) ? STILL_LATE : LATE;
    if (ms > best * factor && ms > best + MIN_GAIN_MS) kept.set(id, (rate * best) / 1000);
  }
  return kept;
}

/** Returns the median rate of the places that are not late; 0 if none is known. */
function usualRate(places: readonly PlaceForecast[], late: readonly { id: string }[]): number {
  const rates = places.flatMap(({ id, rate }) =>
    rate === undefined || late.some((one) => one.id === id) ? [] : rate,
  );
  return rates.sort((a, b) => a - b)[rates.length >> 1] ?? 0;
}

/**
 * Computes the bytes per second that are solved if each column takes parity of `n` depots.
 *
 * @param usual rate of depots that have not shown theirs
 */
function solvedRate(parity: readonly (number | undefined)[], n: number, usual: number): number {
  const rates = parity.map((rate) => rate ?? usual).sort((a, b) => b - a);
  // However fast some are, each column takes no more than one block of each of them.
  const bounds = Array.from({ length: n }, (_, fast) => {
    const rest = rates.slice(fast).reduce((sum, rate) => sum + rate, 0);
    return (n * rest) / (n - fast);
  });
  return Math.min(...bounds);
}

/** Lists the bytes that are both in `parts` and in `gaps`; all of them ascending and disjoint. */
export function sharedRanges(parts: readonly ByteRange[], gaps: readonly ByteRange[]): ByteRange[] {
  const shared: ByteRange[] = [];
  for (let i = 0, j = 0; i < parts.length && j < gaps.length; ) {
    const [part, gap] = [parts[i] as ByteRange, gaps[j] as ByteRange];
    const both = intersect(part, gap);
    if (both !== undefined) shared.push(both);
    if (part.end < gap.end) i++;
    else j++;
  }
  return shared;
}

/** Finds the position before which the first `bytes` of some ranges lie; ascending, disjoint. */
export function endOfFirst(ranges: readonly ByteRange[], bytes: number): number {
  let left = bytes;
  for (const range of ranges) {
    if (rangeBytes(range) > left) return Math.floor(range.start + left);
    left -= rangeBytes(range);
  }
  return Infinity;
}
