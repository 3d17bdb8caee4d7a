/**
 * The layout of an exNode: which depots have how much of the file, until when, and how many of them
 * may fail before bytes are missing.
 */

import { type ByteRange, RangeSet } from '../base/byte-range.ts';
import type { Millis } from '../base/clock.ts';
import { coveredBy, depotsToLose, unitsOf } from './coded.ts';
import type { Exnode, ExnodeReplica } from './exnode.ts';
import { allReplicas, type Listed, replicaBytes } from './replicas.ts';

/** Replicas at one depot. */
interface DepotShare {
  /** Scheme, host and port. */
  readonly depot: string;
  readonly replicas: number;
  /** Bytes that it has: those of the file, each counted once, and those of parity. */
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
  /**
   * Number of depots of which any may fail, all at once, without a byte missing; 0 if one is. Where
   * bytes are in several extents with parity, or shards in several depots, more may be able to fail.
   */
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

/** Bytes that are had as long as not so many depots fail: by parity. */
interface Coded extends ByteRange {
  readonly depots: number;
}

/** An extent, or a unit, at one depot. */
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
  const { size, extents, coded = [] } = exnode;
  const held = extents.flatMap(({ start, end, replicas }): Held[] =>
    replicas
      .filter(isThere)
      .map((replica) => ({ start, end, depot: depotOf(replica), expires: endOf(replica) })),
  );
  const inShards = allReplicas(exnode)
    .filter(({ replica, shard }) => shard !== undefined && isThere(replica))
    .map((listed) => ({ listed, depot: depotOf(listed.replica), expires: endOf(listed.replica) }));
  const depotsOf = (replicas: readonly ExnodeReplica[]) => [
    ...new Set(replicas.filter(isThere).map(depotOf)),
  ];
  const byParity = coded.map((extent): Coded => {
    return { start: extent.start, end: extent.end, depots: depotsToLose(extent, depotsOf) };
  });
  // Without enough shards, the data shards that are left still have their own bytes.
  const units = inShards.flatMap(({ listed, depot, expires }): Held[] => {
    const { extent, index } = listed.shard as NonNullable<Listed['shard']>;
    if (index >= extent.data || depotsToLose(extent, depotsOf) > 0) return [];
    return unitsOf(extent, index).map(({ start, end }) => ({ start, end, depot, expires }));
  });
  const segments = segmentsOf(size, [...held, ...units], byParity);
  const fewest = segments.reduce((least, { depots }) => Math.min(least, depots), Infinity);
  return {
    extents: extents.length + coded.length,
    depots: sharesOf(exnode, held, inShards),
    missing: segments
      .filter(({ depots }) => depots === 0)
      .map(({ start, end }) => ({ start, end })),
    mayFail: segments.length === 0 ? 0 : Math.max(0, fewest - 1),
    weakest: rangeOf(segments.find(({ depots }) => depots === fewest)),
    expires: earliest([...held, ...inShards].map(({ expires }) => expires)),
    completeUntil: completeUntil(exnode, isThere, endOf),
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
function segmentsOf(size: number, held: readonly Held[], byParity: readonly Coded[]): Segment[] {
  const turns: Turn[] = [];
  for (const { start, end, depot } of held) {
    turns.push({ at: start, depot, change: 1 }, { at: end, depot, change: -1 });
  }
  for (const coded of byParity) {
    turns.push({ at: coded.start, coded, change: 1 }, { at: coded.end, coded, change: -1 });
  }
  turns.sort((a, b) => a.at - b.at);
  const counts = new Map<string, number>();
  const open = new Set<Coded>();
  const segments: Segment[] = [];
  let at = 0;
  const upTo = (end: number) => {
    const depots = Math.max(counts.size, ...[...open].map((coded) => coded.depots));
    if (end > at) segments.push({ start: at, end, depots });
    at = end;
  };
  for (const { at: end, depot, coded, change } of turns) {
    upTo(end);
    if (coded !== undefined) {
      if (change > 0) open.add(coded);
      else open.delete(coded);
      continue;
    }
    const count = (counts.get(depot) ?? 0) + change;
    if (count === 0) counts.delete(depot);
    else counts.set(depot, count);
  }
  upTo(size);
  return segments;
}

/** A position at which something that is held begins or ends. */
type Turn = { readonly at: number; readonly change: 1 | -1 } & (
  | { readonly depot: string; readonly coded?: undefined }
  | { readonly coded: Coded; readonly depot?: undefined }
);

function sharesOf(
  exnode: Exnode,
  held: readonly Held[],
  inShards: readonly {
    readonly listed: Listed;
    readonly depot: string;
    readonly expires: Millis | undefined;
  }[],
): DepotShare[] {
  const ofFile = allReplicas(exnode).filter(({ extent }) => extent !== undefined);
  const byDepot = Map.groupBy(
    [...held].sort((a, b) => a.start - b.start),
    ({ depot }) => depot,
  );
  const shards = Map.groupBy(inShards, ({ depot }) => depot);
  return [...new Set(ofFile.map(({ replica }) => depotOf(replica)))].map((depot) => {
    const own = byDepot.get(depot) ?? [];
    const coded = shards.get(depot) ?? [];
    const ofShards = coded.reduce((sum, { listed }) => sum + replicaBytes(listed), 0);
    return {
      depot,
      replicas: own.length + coded.length,
      bytes: new RangeSet(own).bytes + ofShards,
      expires: earliest([...own, ...coded].map((one) => one.expires)),
    };
  });
}

function earliest(ends: readonly (Millis | undefined)[]): Millis | undefined {
  const known = ends.filter((end) => end !== undefined);
  return known.length === 0 ? undefined : known.reduce((a, b) => Math.min(a, b));
}

/**
 * Lists the ranges of a file that can be had, from its replicas or with their parity; ascending.
 *
 * @param isThere tells whether a replica counts
 */
export function coverage(
  { extents, coded = [] }: Exnode,
  isThere: (replica: ExnodeReplica) => boolean,
): RangeSet {
  const plain = extents.filter(({ replicas }) => replicas.some(isThere));
  const had = [...plain, ...coded.flatMap((extent) => coveredBy(extent, isThere))];
  return new RangeSet(had.sort((a, b) => a.start - b.start));
}

/** Finds the first end of a lease after which bytes are missing. What is missing stays missing. */
function completeUntil(
  exnode: Exnode,
  isThere: (replica: ExnodeReplica) => boolean,
  endOf: (replica: ExnodeReplica) => Millis | undefined,
): Millis | undefined {
  const listed = allReplicas(exnode).filter(
    ({ replica, extent }) => extent !== undefined && isThere(replica),
  );
  const known = listed.flatMap(({ replica }) => endOf(replica) ?? []);
  const ends = [...new Set(known)].sort((a, b) => a - b);
  const isComplete = (at: Millis) => {
    const isLeft = (replica: ExnodeReplica) =>
      isThere(replica) && (endOf(replica) ?? Infinity) > at;
    return coverage(exnode, isLeft).covers({ start: 0, end: exnode.size });
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
