/** The peers of a node as its status pages show them. */

import type { Millis } from '@millrace/shared/base/clock';
import type { DepotRoom } from '@millrace/shared/cdn/depot/depot-room';
import { minRtt, type Peer } from '@millrace/shared/cdn/routing/peer';
import type { PeerTable } from '@millrace/shared/cdn/routing/peer-table';

/**
 * Describes the peers for `/-/status`.
 *
 * @param members peers that requests are routed to
 * @param now monotonic milliseconds
 */
export function describePeers(table: PeerTable, members: readonly Peer[], now: Millis) {
  return [...table.peers].map((peer) => ({
    name: peer.name,
    url: peer.url,
    publicUrl: peer.publicUrl,
    member: members.includes(peer),
    usable: table.isUsable(peer, now),
    alive: table.isAlive(peer),
    rttMs: Math.round(minRtt(peer) * 100) / 100,
    load: peer.load,
    room: peer.room,
    depot: peer.depotRoom,
    org: peer.org,
    site: peer.site,
    weight: peer.weight,
    policy: peer.policy,
    isolated: now < peer.isolatedUntil,
    // Nodes that have heard it since this one lost it: there are none if it is down.
    seenBy: table.isUsable(peer, now) ? undefined : table.seenBy(peer.name, now).length,
  }));
}

/** This node, as clients see it. */
export interface OwnEdge {
  readonly name: string;
  readonly url: string | undefined;
  readonly healthy: boolean;
  readonly load: number;
  readonly weight: number;
  readonly room: number | undefined;
  readonly depot: DepotRoom | undefined;
  readonly org: string | undefined;
}

/** Lists the nodes that clients can reach, this one first, for `/-/edges`. */
export function publicEdges(self: OwnEdge, peers: ReturnType<typeof describePeers>) {
  const edges = peers.map(({ name, publicUrl, usable, load, room, weight, rttMs, depot, org }) => {
    return { name, url: publicUrl, healthy: usable, load, room, weight, rttMs, depot, org };
  });
  return [{ ...self, rttMs: 0 }, ...edges].filter(({ url }) => url !== undefined);
}
