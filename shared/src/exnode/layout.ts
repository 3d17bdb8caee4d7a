/**
 * The layout of an exNode: which depots have how much of the file, until when, and how many of them
 * may fail before bytes are missing.
 */

import { type ByteRange, RangeSet } from '../base/byte-range.ts';
import type { Millis } from '../base/clock.ts';
import type { Exnode, ExnodeReplica } from './exnode.ts';

/** Replicas at one depot. */
export interface DepotShare {
  /** Scheme, host and port. */
  readonly depot: string;
  readonly replicas: number;
  /** Bytes of the file that it has, each counted once. */
  readonly bytes: number;
  /** First end of a lease, Unix milliseconds; undefined: none is known. */
  readonly expires: Millis | undefined;
}

export interface Layout {
  readonly extents: number;
  /** Depots in the order in which the exNode names them. */
  readonly depots: readonly DepotShare[];
  /** Ranges of the file that nobody has, ascending. */
  readonly missing: readonly ByteRange[];
  /** Number of depots of which any may fail, all at once, without a byte missing; 0 if one is. */
  readonly mayFail: number;
  /** First range that the fewest depots have; undefined for an empty file. */
  readonly weakest: ByteRange | undefined;
  /** First end of a lease; undefined: none is known. */
  readonly expires: Millis | undefined;
  /** First moment at which bytes are missing because leases have ended; undefined: none is known. */
  readonly completeUntil: Millis | undefined;
}

/** A range of the file, and the number of depots that have it. */
interface Segment extends ByteRange {
  readonly depots: number;
}

/** An extent at one depot. */
interface Held extends ByteRange {
  readonly depot: string;
  readonly expires: Millis | undefined;
}

/** Returns the depot of a replica: scheme, host and port. */
export function depotOf({ read }: ExnodeReplica): string {
  return new URL(read).origin;
}

/** Returns true if a replica's lease has ended. @param now Unix milliseconds */
export function isOver({ expires }: ExnodeReplica, now: Millis): boolean {
  return expires !== undefined && expires <= now;
}

/**
 * Computes the layout of an exNode.
 *
 * @param isThere tells whether a replica counts; those that do not are at no depot
 * @param endOf returns the end of a replica's lease; default: what the exNode says
 */
export function layoutOf(
  exnode: Exnode,
  isThere: (replica: ExnodeReplica) => boolean,
  endOf: (replica: ExnodeReplica) => Millis | undefined = ({ expires }) => expires,
): Layout {
  const { size, extents } = exnode;
  const held = extents.flatMap(({ start, end, replicas }): Held[] =>
    replicas
      .filter(isThere)
      .map((replica) => ({ start, end, depot: depotOf(replica), expires: endOf(replica) })),
  );
  const segments = segmentsOf(size, held);
  const fewest = segments.reduce((least, { depots }) => Math.min(least, depots), Infinity);
  return {
    extents: extents.length,
    depots: sharesOf(exnode, held),
    missing: segments
      .filter(({ depots }) => depots === 0)
      .map(({ start, end }) => ({ start, end })),
    mayFail: segments.length === 0 ? 0 : Math.max(0, fewest - 1),
    weakest: rangeOf(segments.find(({ depots }) => depots === fewest)),
    expires: earliest(held.map(({ expires }) => expires)),
    completeUntil: completeUntil(size, held),
  };
}

function rangeOf(segment: Segment | undefined): ByteRange | undefined {
  return segment && { start: segment.start, end: segment.end };
}

/**
 * Cuts a file at the ends of what is held. Bytes are missing once all depots of one segment have
 * failed, so the segment with the fewest depots tells exactly how many may fail. The cost is that of
 * sorting the ends.
 *
 * @returns segments that cover the file in order
 */
function segmentsOf(size: number, held: readonly Held[]): Segment[] {
  const turns = held.flatMap(({ start, end, depot }) => [
    { at: start, depot, change: 1 },
    { at: end, depot, change: -1 },
  ]);
  turns.sort((a, b) => a.at - b.at);
  const counts = new Map<string, number>();
  const segments: Segment[] = [];
  let at = 0;
  const upTo = (end: number) => {
    if (end > at) segments.push({ start: at, end, depots: counts.size });
    at = end;
  };
  for (const turn of turns) {
    upTo(turn.at);
    const count = (counts.get(turn.depot) ?? 0) + turn.change;
    if (count === 0) counts.delete(turn.depot);
    else counts.set(turn.depot, count);
  }
  upTo(size);
  return segments;
}

function sharesOf({ extents }: Exnode, held: readonly Held[]): DepotShare[] {
  const named = extents.flatMap(({ replicas }) => replicas.map(depotOf));
  const byDepot = Map.groupBy(
    [...held].sort((a, b) => a.start - b.start),
    ({ depot }) => depot,
  );
  return [...new Set(named)].map((depot) => {
    const own = byDepot.get(depot) ?? [];
    const expires = earliest(own.map((one) => one.expires));
    return { depot, replicas: own.length, bytes: new RangeSet(own).bytes, expires };
  });
}

function earliest(ends: readonly (Millis | undefined)[]): Millis | undefined {
  const known = ends.filter((end) => end !== undefined);
  return known.length === 0 ? undefined : known.reduce((a, b) => Math.min(a, b));
}

/** Finds the first end of a lease after which bytes are missing. What is missing stays missing. */
function completeUntil(size: number, held: readonly Held[]): Millis | undefined {
  const known = held.flatMap(({ expires }) => expires ?? []);
  const ends = [...new Set(known)].sort((a, b) => a - b);
  const isComplete = (at: Millis) => {
    const left = held.filter(({ expires }) => expires === undefined || expires > at);
    return segmentsOf(size, left).every(({ depots }) => depots > 0);
  };
  let [low, high] = [0, ends.length];
  if (!isComplete(-Infinity)) return undefined;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (isComplete(ends[middle] as Millis)) low = middle + 1;
    else high = middle;
  }
  return ends[low];
}
