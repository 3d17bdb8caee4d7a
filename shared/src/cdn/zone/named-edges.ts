/** Picks the edges that an answer of the zone names; their order is that of `/-/near/`. */

import { type AddressedEdge, oneForEachAddress } from '../near/one-address.ts';

/** Most edges in one answer. */
export const MAX_NAMED = 8;

/** An edge that clients can be sent to; its `url` is any text that only its address has. */
export interface ZoneEdge extends AddressedEdge {
  /** Addresses of both families, at least one. */
  readonly addresses: readonly string[];
}

/** An edge, as far as it decides whether the edge may be named. */
export interface KnownEdge {
  readonly healthy: boolean;
  /** Digest of what its policy serves; undefined: it does not tell. */
  readonly serves: string | undefined;
}

/** Edges that may be named. */
export interface ZoneEdges<E> {
  readonly edges: readonly E[];
  /** True if none of them is healthy: then all are named, because one may work nevertheless. */
  readonly noneHealthy: boolean;
  /** Healthy edges that are left out because their policy is not that of most. */
  readonly others: readonly E[];
}

/**
 * Picks the healthy edges among all that are known, or all of them if none is healthy. A name says
 * nothing about the file that is wanted, so an edge is left out if its policy is not that of most: it
 * might refuse what the others serve.
 *
 * @param own policy of the edge that answers; it decides where as many edges have another one
 */
export function usableEdges<E extends KnownEdge>(
  known: readonly E[],
  own: string | undefined,
): ZoneEdges<E> {
  const healthy = known.filter((edge) => edge.healthy);
  if (healthy.length === 0) return { edges: known, noneHealthy: true, others: [] };
  const usual = usualPolicy(healthy, own);
  const isUsual = ({ serves }: E) => serves === undefined || serves === usual;
  const others = healthy.filter((edge) => !isUsual(edge));
  return { edges: healthy.filter(isUsual), noneHealthy: false, others };
}

/** Returns the policy that most edges have; undefined if none tells its policy. */
function usualPolicy(edges: readonly KnownEdge[], own: string | undefined): string | undefined {
  const counts = new Map<string, number>();
  for (const { serves } of edges) {
    if (serves !== undefined) counts.set(serves, (counts.get(serves) ?? 0) + 1);
  }
  const most = Math.max(...counts.values());
  const usual = [...counts.keys()].filter((serves) => counts.get(serves) === most).sort();
  // All servers of the zone decide alike, unless each has as good a reason for its own policy.
  return usual.find((serves) => serves === own) ?? usual[0];
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
  { edges, noneHealthy }: Pick<ZoneEdges<E>, 'edges' | 'noneHealthy'>,
  most: number,
  order: (edges: readonly E[]) => readonly E[],
): NamedEdges {
  const groups = oneForEachAddress(edges);
  const chosen = order(groups).slice(0, noneHealthy ? MAX_NAMED : most);
  const addresses = [...new Set(chosen.flatMap((edge) => edge.addresses))];
  return { addresses, dependsOnClient: groups.length > 1 };
}
