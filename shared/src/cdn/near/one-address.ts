/** Processes of one edge are nodes of their own, but clients see them as one, at one address. */

import type { NearEdge } from './nearest-edge.ts';

/** An edge with the address that clients are sent to. */
export interface AddressedEdge extends NearEdge {
  readonly url: string;
}

/**
 * Makes one edge of all nodes with the same address: as near as the nearest of them, with the
 * load and the weight of all together. The first node of an address gives the name.
 */
export function oneForEachAddress<E extends AddressedEdge>(nodes: readonly E[]): E[] {
  const byUrl = Map.groupBy(nodes, ({ url }) => url);
  return [...byUrl.values()].map((group) => {
    const first = group[0] as E;
    const least = (values: readonly (number | undefined)[]) => {
      const known = values.filter((value) => value !== undefined);
      return known.length === 0 ? undefined : Math.min(...known);
    };
    return {
      ...first,
      rttMs: least(group.map(({ rttMs }) => rttMs)),
      km: least(group.map(({ km }) => km)),
      peerMs: Math.min(...group.map(({ peerMs }) => peerMs)),
      load: group.reduce((sum, { load }) => sum + load, 0),
      weight: group.reduce((sum, { weight }) => sum + weight, 0),
      room: Math.max(...group.map(({ room }) => room)),
    };
  });
}
