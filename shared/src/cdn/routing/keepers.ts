/**
 * The edges of a network that keep a copy of an exNode beside the depot that has it: the first of the
 * others with depots by Highest Random Weight of its id. Every node works them out by itself, so that
 * an edge that is asked for a link knows whom to ask once the depot of the link is lost.
 */

import { depotTagOf } from '../depot/depot-file.ts';
import { type HrwNode, rank } from './hrw.ts';

/** Edges that keep a copy. */
export const KEEPERS = 3;
/**
 * Edges that are asked for a copy: nodes come and go, and not all learn of it at the same time. So the
 * first ones of today may not have been the first ones when the copies were made.
 */
export const MAX_KEEPERS_ASKED = 5;

/** Most depots that an edge names of whose exNodes it keeps copies. */
export const MAX_KEPT_DEPOTS = 1000;

/** An edge, and the name of its depot; undefined: it has none. */
interface Edge extends Pick<HrwNode, 'name' | 'seed'> {
  readonly depot?: string | undefined;
}

/**
 * Returns the edges that keep a copy of an exNode, the first one first.
 *
 * @param id of the exNode
 * @param edges others than the one that asks, those that answer; those with the exNode itself do not count
 * @param count how many at most
 */
export function keepersOf<E extends Edge>(id: string, edges: Iterable<E>, count: number): E[] {
  const own = depotTagOf(id);
  const able: (HrwNode & { readonly edge: E })[] = [];
  for (const edge of edges) {
    const { name, seed, depot } = edge;
    // ExNodes are small: a node that takes a greater share of the chunks has no more of them.
    if (depot !== undefined && depot !== own) able.push({ name, seed, weight: 1, edge });
  }
  return rank(id, able, count).map(({ edge }) => edge);
}
