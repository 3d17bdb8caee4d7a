/**
 * Orders the edges of a network by how far they are from this client. Those that are not known well
 * enough are measured; where there are too many to measure, the ones that are likely to be near.
 */

import type { Millis } from '../../base/clock.ts';

/** Most edges of a list that are used: further sources do not make a download faster. */
export const MAX_EDGES = 32;
/** Edges that are looked at besides: those of them that turn out to be farther are left out. */
const SPARE = 16;

/** An edge of a list. */
export interface ListedEdge {
  readonly url: string;
  /** Its round trip from the edge that gave the list; undefined if the list does not say. */
  readonly rttMs?: Millis | undefined;
}

/** Distance of an edge from this client, as far as it is remembered. */
export interface KnownDistance {
  /** Remembered round trip; undefined: never measured. */
  readonly ms: Millis | undefined;
  /** True if it need not be measured again. */
  readonly isFresh: boolean;
}

export interface EdgePlan<E> {
  /** Edges to use as they are, the nearest first. */
  readonly use: readonly E[];
  /** Edges to measure, all at once. */
  readonly measure: readonly E[];
}

/**
 * Chooses the edges of a list that come into question.
 *
 * @param edges in the order of the list
 * @param known what is remembered of an edge
 * @param firstMs round trip to the edge that gave the list. An edge that was never measured counts as
 *   far as the way through that edge; without its distance in the list it comes after all others
 */
export function planEdges<E extends ListedEdge>(
  edges: readonly E[],
  known: (edge: E) => KnownDistance,
  firstMs: Millis,
): EdgePlan<E> {
  const likely = edges
    .map((edge) => ({ edge, ...known(edge) }))
    .map((one) => ({ ...one, likelyMs: one.ms ?? firstMs + (one.edge.rttMs ?? Infinity) }))
    .sort((a, b) => compare(a.likelyMs, b.likelyMs))
    .slice(0, MAX_EDGES + SPARE);
  return {
    use: likely.filter(({ isFresh }) => isFresh).map(({ edge }) => edge),
    measure: likely.filter(({ isFresh }) => !isFresh).map(({ edge }) => edge),
  };
}

/** Compares numbers, of which both may be infinite. */
function compare(a: number, b: number): number {
  return a === b ? 0 : a - b;
}
