/**
 * The parts of a file that a source has: of an upload in progress, or of a depot that stores some
 * of it.
 */

import type { ByteRange } from '../../base/byte-range.ts';

/**
 * Tells the next bytes that a source has: the first run of them that ends behind a position, as long
 * as it is. No run is empty.
 *
 * @returns undefined where it has nothing behind the position
 */
export type Holds = (position: number) => ByteRange | undefined;

/**
 * The first bytes of a range that a source has.
 *
 * @param holds undefined: it has the whole file
 */
export function firstHeld(holds: Holds | undefined, within: ByteRange): ByteRange | undefined {
  if (holds === undefined) return within;
  const run = holds(within.start);
  if (run === undefined || run.start >= within.end) return undefined;
  return { start: Math.max(run.start, within.start), end: Math.min(run.end, within.end) };
}

/** The last bytes of a range, as many of them in a row as a source has; undefined: not the very last. */
export function lastHeld(holds: Holds | undefined, within: ByteRange): ByteRange | undefined {
  for (const run of heldRuns(holds, within)) if (run.end === within.end) return run;
  return undefined;
}

/** All runs of bytes within a range that a source has, ascending. */
export function* heldRuns(holds: Holds | undefined, within: ByteRange): Generator<ByteRange> {
  for (let start = within.start; start < within.end; ) {
    const run = firstHeld(holds, { start, end: within.end });
    if (run === undefined) return;
    yield run;
    start = run.end;
  }
}
