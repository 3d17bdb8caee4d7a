/** An order of edges that spreads clients' networks over them, each always to the same ones. */

import { hashText, rank } from '../routing/hrw.ts';
import type { EdgeOrder, ZoneEdge } from './named-edges.ts';

/**
 * Orders edges for a client's network by Highest Random Weight: a node that knows nothing of the
 * network sends all of its clients to the same edges, and each edge gets its part of the networks.
 *
 * @param network key of the client's network
 */
export function orderByNetwork<E extends ZoneEdge>(
  network: string,
  edges: readonly E[],
): EdgeOrder<E> {
  const nodes = edges.map((edge) => ({ ...edge, edge, seed: hashText(edge.name) }));
  const ordered = rank(network, nodes, nodes.length).map(({ edge }) => edge);
  return { edges: ordered, dependsOnClient: edges.length > 1 };
}
