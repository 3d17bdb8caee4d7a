/**
 * Chooses which of the found runs are taken from an older file, and which are fetched together with
 * their neighbours.
 */

import type { FoundRun } from './block-search.ts';

/** Most stretches of the wanted file that are taken: each leaves a gap that has to be asked for. */
const MAX_STRETCHES = 20_000;
/** Bytes that may be fetched although they were found, as a share of those that were not. */
const SPENT_SHARE = 0.01;
/** Longest stretch that is given up to save a request, bytes. */
const SHORT_BYTES = 64 * 1024;

/** Runs that follow each other in the wanted file. */
interface Stretch {
  readonly runs: FoundRun[];
  bytes: number;
}

/**
 * Leaves out the shortest stretches, so that fewer requests are needed: as many as cost no more than a
 * hundredth of what is fetched anyway, and in any case until few enough are left.
 *
 * @param runs ascending, without overlaps
 * @param length of the wanted file, bytes
 * @param most stretches to keep
 */
export function takenRuns(
  runs: readonly FoundRun[],
  length: number,
  most = MAX_STRETCHES,
): FoundRun[] {
  const stretches: Stretch[] = [];
  let end = Number.NaN;
  for (const run of runs) {
    if (run.start !== end) stretches.push({ runs: [], bytes: 0 });
    const last = stretches.at(-1) as Stretch;
    last.runs.push(run);
    last.bytes += run.bytes;
    end = run.start + run.bytes;
  }
  const missing = length - stretches.reduce((sum, { bytes }) => sum + bytes, 0);
  const left = new Set<Stretch>();
  let spent = 0;
  for (const stretch of [...stretches].sort((a, b) => a.bytes - b.bytes)) {
    const isCheap = stretch.bytes <= SHORT_BYTES && spent + stretch.bytes <= missing * SPENT_SHARE;
    if (!isCheap && stretches.length - left.size <= most) break;
    spent += stretch.bytes;
    left.add(stretch);
  }
  return stretches.filter((stretch) => !left.has(stretch)).flatMap(({ runs: kept }) => kept);
}
