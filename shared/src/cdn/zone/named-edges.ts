/** Which edges an answer of the zone names, and whether it depends on the client. */

import type { Millis } from '../../base/clock.ts';

/** An edge that clients can be sent to. */
export interface ZoneEdge {
  readonly name: string;
  /** Addresses of both families. */
  readonly addresses: readonly string[];
  /** True if it answers and takes clients. */
  readonly healthy: boolean;
  readonly load: number;
  readonly weight: number;
}

/** Edges in the order in which a client should try them. */
export interface EdgeOrder<E> {
  readonly edges: readonly E[];
  /** True if the order is another one for clients of other networks. */
  readonly dependsOnClient: boolean;
}

/**
 * The choice of edges for a client.
 *
 * @param client an address of its network
 * @param edges healthy ones only, unless there is none
 * @param now monotonic milliseconds
 */
export type OrderEdges = <E extends ZoneEdge>(
  client: string,
  edges: readonly E[],
  now: Millis,
) => EdgeOrder<E>;

/** Addresses that an answer names. */
export interface NamedEdges {
  readonly addresses: readonly string[];
  readonly dependsOnClient: boolean;
  /** True if no edge is healthy: then all are named, because one of them may work. */
  readonly noneHealthy: boolean;
}

/**
 * Names edges for a client.
 *
 * @param client an address of its network
 * @param edges all that are known; those without addresses cannot be named
 * @param most edges to name, at least 1; all are named if none is healthy
 */
export function nameEdges(
  client: string,
  edges: readonly ZoneEdge[],
  most: number,
  order: OrderEdges,
  now: Millis,
): NamedEdges {
  const named = edges.filter(({ addresses }) => addresses.length > 0);
  const healthy = named.filter((edge) => edge.healthy);
  const noneHealthy = healthy.length === 0;
  const { edges: ordered, dependsOnClient } = order(client, noneHealthy ? named : healthy, now);
  // Processes of one edge, and edges behind one address, count once.
  const groups = new Map<string, readonly string[]>();
  for (const { addresses } of ordered) groups.set(addresses.join(), addresses);
  const chosen = [...groups.values()].slice(0, noneHealthy ? MAX_NAMED : most);
  return { addresses: [...new Set(chosen.flat())], dependsOnClient, noneHealthy };
}

/** Most edges in one answer. */
export const MAX_NAMED = 8;
