/** Parts of a file that a source has: an unfinished upload, a depot that stores some of it. */

import type { ByteRange } from '../../base/byte-range.ts';

/**
 * Finds the next bytes that a source has: the whole first run that ends after a position. No run is
 * empty.
 *
 * @returns undefined if the source has no bytes from the position on
 */
export type Holds = (position: number) => ByteRange | undefined;

/**
 * Finds the first bytes of a range that a source has.
 *
 * @param holds undefined: the source has the whole file
 */
export function firstHeld(holds: Holds | undefined, within: ByteRange): ByteRange | undefined {
  if (holds === undefined) return within;
  const run = holds(within.start);
  if (run === undefined || run.start >= within.end) return undefined;
  return { start: Math.max(run.start, within.start), end: Math.min(run.end, within.end) };
}

/** Finds the bytes at the end of a range that a source has; undefined if it lacks the last byte. */
export function lastHeld(holds: Holds | undefined, within: ByteRange): ByteRange | undefined {
  const last = within.end - 1;
  const run = holds === undefined ? within : holds(last);
  if (run === undefined || run.start > last || within.start > last) return undefined;
  return { start: Math.max(run.start, within.start), end: within.end };
}

/** Lists all runs of bytes within a range that a source has, ascending. */
export function* heldRuns(holds: Holds | undefined, within: ByteRange): Generator<ByteRange> {
  for (let start = within.start; start < within.end; ) {
    const run = firstHeld(holds, { start, end: within.end });
    if (run === undefined) return;
    yield run;
    start = run.end;
  }
}
