/** Divides a file into equal parts for display: how much is stored, and which source brought it. */

import type { ByteRange } from '../../base/byte-range.ts';

/** A source with the bytes that it gave. */
export interface Giver {
  /** Ascending, disjoint. */
  readonly ranges: readonly ByteRange[];
  /** True for a source not to be trusted: its bytes may have been fetched again from others. */
  readonly suspect: boolean;
}

/** A source whose given bytes may not have been noted. */
export interface NotedGiver extends Giver {
  /** Bytes received over the network, whether they were kept or not. */
  readonly receivedBytes: number;
}

/**
 * Lists the bytes that each source has given, in the order of the sources.
 *
 * @param stored bytes of the file that are stored; ascending, disjoint
 */
export function giversOf(
  sources: readonly NotedGiver[],
  stored: readonly ByteRange[],
): readonly Giver[] {
  // A file fetched as a whole comes from one source, and its ranges are not noted.
  if (sources.some(({ ranges }) => ranges.length > 0)) return sources;
  return sources.map(({ ranges, receivedBytes, suspect }) => ({
    ranges: receivedBytes === 0 ? ranges : stored,
    suspect,
  }));
}

/** Returns where each part begins, followed by the length. */
function bounds(length: number, cells: number): number[] {
  return Array.from({ length: cells + 1 }, (_, i) => Math.floor((length * i) / cells));
}

/** Counts the bytes of each part that are in the ranges (ascending, disjoint). */
function bytesPerCell(ranges: readonly ByteRange[], starts: readonly number[]): Float64Array {
  const cells = starts.length - 1;
  const bytes = new Float64Array(cells);
  let i = 0;
  for (const { start, end } of ranges) {
    while (i < cells && (starts[i + 1] as number) <= start) i++;
    for (let at = i; at < cells && (starts[at] as number) < end; at++) {
      const shared =
        Math.min(end, starts[at + 1] as number) - Math.max(start, starts[at] as number);
      bytes[at] = (bytes[at] as number) + Math.max(0, shared);
    }
  }
  return bytes;
}

/**
 * Returns the share of each part that is in the ranges, 0 to 1. If there are more parts than
 * bytes, a part without bytes repeats the share of the part before it.
 *
 * @param ranges ascending, disjoint
 * @param length of the file; 0 or undefined: nothing is stored
 */
export function storedShares(
  ranges: readonly ByteRange[],
  length: number | undefined,
  cells: number,
): number[] {
  const shares = new Array<number>(cells).fill(0);
  if (length === undefined || length === 0) return shares;
  const starts = bounds(length, cells);
  const bytes = bytesPerCell(ranges, starts);
  for (let i = 0; i < cells; i++) {
    const size = (starts[i + 1] as number) - (starts[i] as number);
    shares[i] = size === 0 ? (shares[i - 1] ?? 0) : (bytes[i] as number) / size;
  }
  return shares;
}

/**
 * Finds the index of the source that brought most of each part; -1: none. A suspect counts only in
 * parts to which no other source has brought a byte. If there are more parts than bytes, a part
 * without bytes has the source of the part after it, where the next byte is.
 */
export function broughtBy(
  givers: readonly Giver[],
  length: number | undefined,
  cells: number,
): number[] {
  const by = new Array<number>(cells).fill(-1);
  if (length === undefined || length === 0) return by;
  const starts = bounds(length, cells);
  const most = new Float64Array(cells);
  for (const [index, { ranges, suspect }] of givers.entries()) {
    const bytes = bytesPerCell(ranges, starts);
    for (let i = 0; i < cells; i++) {
      // A single byte of another source outweighs all bytes of a suspect.
      const weight = (bytes[i] as number) * (suspect ? 1e-12 : 1);
      if (weight <= (most[i] as number)) continue;
      most[i] = weight;
      by[i] = index;
    }
  }
  for (let i = cells - 2; i >= 0; i--) {
    if (starts[i] === starts[i + 1]) by[i] = by[i + 1] as number;
  }
  return by;
}
