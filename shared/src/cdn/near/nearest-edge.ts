/**
 * Decides which edge a client is sent to that knows none: the one with the lowest cost, which is
 * the client's round trip to it, made larger where the edge is busier than the others (NSDI 4.2
 * finds near nodes by round trips, 5.1 figure 8 spreads by load).
 *
 * Where a round trip was not measured it is estimated: by the distance on the ground if both places
 * are known, otherwise as if the way led through the edge that was asked.
 */

import type { Millis, Random } from '../../base/clock.ts';

/** An edge that a client could be sent to, with its distance and its load. */
export interface NearEdge {
  readonly name: string;
  /** Round trip of the client's network to it, milliseconds; undefined: not measured lately. */
  readonly rttMs: Millis | undefined;
  /** Distance to the client, kilometres; undefined: one of the places is not known. */
  readonly km: number | undefined;
  /** Round trip from the edge that was asked, milliseconds; 0 for that edge itself. */
  readonly peerMs: Millis;
  /** Load in steps, as heartbeats tell it. */
  readonly load: number;
  /** The edge's share relative to others. */
  readonly weight: number;
  /** Part of what the edge can take that is free, 0 to 1. */
  readonly room: number;
}

export interface Choice<E extends NearEdge> {
  /** The edges, the one that the client is sent to first, then by cost. */
  readonly edges: readonly E[];
  /** True if the first edge is chosen so that it measures the client's network. */
  readonly explores: boolean;
}

/**
 * Round trip per kilometre: light in glass needs 0.01 ms for the way there and back, and cables are
 * about twice as long as the way on the ground.
 */
const MS_PER_KM = 0.02;
/** Round trip below which edges do not differ, milliseconds: what an answer costs anyway. */
const BASE_MS = 5;
/** Edges count as equally good up to this multiple of the lowest cost. */
const EQUAL = 1.25;
/** Room below which an edge is taken only if none has more. */
const LEAST_ROOM = 0.05;
/** Share of answers that send a client to an edge whose round trip nobody has measured. */
const EXPLORED_SHARE = 1 / 8;
/** An edge is worth measuring if it may be nearer than the best by this factor and this time. */
const PROMISING = 0.7;
const PROMISING_MS = 10;

/** An edge with its estimated round trip. */
interface Judged<E> {
  readonly edge: E;
  readonly ms: Millis;
  readonly cost: number;
}

/**
 * Orders edges for a client.
 *
 * @param edges those that may be named, the one that was asked among them if it may be
 * @param own the edge that was asked, whether it is among them or not
 * @param mayExplore whether an edge may be chosen in order to be measured; gets its name
 */
export function chooseNear<E extends NearEdge>(
  edges: readonly E[],
  own: NearEdge,
  mayExplore: (name: string) => boolean,
  random: Random,
): Choice<E> {
  const judged = judge(edges, own);
  const roomy = judged.filter(({ edge }) => edge.room >= LEAST_ROOM);
  const ranked = roomy.length > 0 ? roomy : judged;
  const [best] = ranked;
  if (best === undefined) return { edges: [], explores: false };
  const unknown = promising(ranked, best, own).filter(({ edge }) => mayExplore(edge.name));
  const explores = unknown.length > 0 && random() < EXPLORED_SHARE;
  const first = explores ? pick(unknown, random) : pickEqual(ranked, best, random);
  const rest = [...ranked, ...judged.filter((one) => !ranked.includes(one))];
  const others = rest.filter((one) => one !== first);
  return { edges: [first, ...others].map(({ edge }) => edge), explores };
}

/** Returns the edges with their estimates, the lowest cost first. */
function judge<E extends NearEdge>(edges: readonly E[], own: NearEdge): Judged<E>[] {
  const total = (of: (edge: E) => number) => edges.reduce((sum, edge) => sum + of(edge), 0);
  const mean = total(({ load }) => load) / total(({ weight }) => weight);
  const ownMs = ownEstimate(edges, own);
  return edges
    .map((edge) => {
      const ms = known(edge) ?? ownMs + edge.peerMs;
      // One step more on either side: between idle edges and nearly idle ones there is no difference.
      const busy = (busyOf(edge) + 1) / (mean + 1);
      return { edge, ms, cost: (ms + BASE_MS) * Math.max(1, busy) };
    })
    .sort((a, b) => a.cost - b.cost || a.ms - b.ms || (a.edge.name < b.edge.name ? -1 : 1));
}

/** Returns the round trip of the client to the edge that was asked; 0 if nothing is known of it. */
function ownEstimate(edges: readonly NearEdge[], own: NearEdge): Millis {
  const through = edges.flatMap((edge) => {
    const ms = known(edge);
    return ms === undefined ? [] : [ms + edge.peerMs];
  });
  return known(own) ?? (through.length === 0 ? 0 : Math.min(...through));
}

function known({ rttMs, km }: NearEdge): Millis | undefined {
  return rttMs ?? (km === undefined ? undefined : km * MS_PER_KM);
}

/**
 * Returns edges that nobody has measured and that may be much nearer than the best one. The asked
 * edge's own round trip bounds theirs: no side of a triangle is longer than the other two. Without
 * that round trip nothing would be measured at the other edge either.
 */
function promising<E extends NearEdge>(
  ranked: readonly Judged<E>[],
  best: Judged<E>,
  own: NearEdge,
): Judged<E>[] {
  const { rttMs } = own;
  if (rttMs === undefined) return [];
  return ranked.filter(({ edge }) => {
    if (known(edge) !== undefined) return false;
    const least = Math.abs(edge.peerMs - rttMs);
    return least < best.ms * PROMISING && least < best.ms - PROMISING_MS;
  });
}

/**
 * Picks one of the edges that are about as good as the best: of two at random the less busy one, so
 * that not all clients go to the edge that was least busy at the last heartbeat.
 */
function pickEqual<E extends NearEdge>(
  ranked: readonly Judged<E>[],
  best: Judged<E>,
  random: Random,
): Judged<E> {
  const equal = ranked.filter(({ cost }) => cost <= best.cost * EQUAL);
  const [a, b] = [pick(equal, random), pick(equal, random)];
  return busyOf(b.edge) < busyOf(a.edge) ? b : a;
}

/** Returns an edge's load in proportion to its share. */
function busyOf({ load, weight }: NearEdge): number {
  return load / weight;
}

/** Picks one at random, in proportion to the weights. */
function pick<E extends NearEdge>(from: readonly Judged<E>[], random: Random): Judged<E> {
  let at = random() * from.reduce((sum, { edge }) => sum + edge.weight, 0);
  for (const one of from) {
    at -= one.edge.weight;
    if (at < 0) return one;
  }
  return from.at(-1) as Judged<E>;
}
