/** Picks the edges that an answer of the zone names; their order is that of `/-/near/`. */

import { type AddressedEdge, oneForEachAddress } from '../near/one-address.ts';

/** Most edges in one answer. */
export const MAX_NAMED = 8;

/** An edge that clients can be sent to; its `url` is any text that only its address has. */
export interface ZoneEdge extends AddressedEdge {
  /** Addresses of both families, at least one. */
  readonly addresses: readonly string[];
}

/** Edges that may be named. */
export interface ZoneEdges<E> {
  readonly edges: readonly E[];
  /** True if none of them is healthy: then all are named, because one may work nevertheless. */
  readonly noneHealthy: boolean;
}

/** Picks the healthy edges among all that are known, or all of them if none is healthy. */
export function usableEdges<E extends { readonly healthy: boolean }>(
  known: readonly E[],
): ZoneEdges<E> {
  const healthy = known.filter((edge) => edge.healthy);
  const noneHealthy = healthy.length === 0;
  return { edges: noneHealthy ? known : healthy, noneHealthy };
}

/** Addresses that an answer names. */
export interface NamedEdges {
  readonly addresses: readonly string[];
  /** True if other clients may get others. */
  readonly dependsOnClient: boolean;
}

/**
 * Names edges for a client.
 *
 * @param most edges to name, at least 1; all are named if none is healthy
 * @param order sorts edges for the client, the best first
 */
export function nameEdges<E extends ZoneEdge>(
  { edges, noneHealthy }: ZoneEdges<E>,
  most: number,
  order: (edges: readonly E[]) => readonly E[],
): NamedEdges {
  const groups = oneForEachAddress(edges);
  const chosen = order(groups).slice(0, noneHealthy ? MAX_NAMED : most);
  const addresses = [...new Set(chosen.flatMap((edge) => edge.addresses))];
  return { addresses, dependsOnClient: groups.length > 1 };
}
