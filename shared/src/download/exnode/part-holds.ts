/** The parts of a file that a source has, less those that it may not bring. */

import { type ByteRange, firstBehind } from '../../base/byte-range.ts';
import type { Holds } from '../scheduler/holdings.ts';

/**
 * Makes the function that finds the next part of a source. Two parts that touch are two, because
 * one request cannot ask for both.
 *
 * @param parts ascending, disjoint; asked again for each search
 * @param denied ranges that the source may not bring now, ascending; asked again for each search
 */
export function holdsOf(
  parts: () => readonly ByteRange[],
  denied: () => readonly ByteRange[],
): Holds {
  return (position) => {
    const all = parts();
    const not = denied();
    for (let i = firstBehind(all, position); i < all.length; i++) {
      const run = freeOf(all[i] as ByteRange, position, not);
      if (run !== undefined) return run;
    }
    return undefined;
  };
}

/** Finds the first bytes of a part, from a position on, that are not denied. */
function freeOf(
  part: ByteRange,
  position: number,
  denied: readonly ByteRange[],
): ByteRange | undefined {
  let { start } = part;
  for (const { start: from, end: to } of denied) {
    if (to <= start) continue;
    if (from >= part.end) break;
    // The bytes before the denied ones, if they reach behind the position.
    if (from > start && from > position) return { start, end: from };
    start = Math.max(start, to);
  }
  return start < part.end && part.end > position ? { start, end: part.end } : undefined;
}
