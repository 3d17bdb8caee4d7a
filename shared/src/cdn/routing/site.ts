/**
 * Nodes of one place, such as a data centre, to which their operator gives one name (NSDI 4.3). The
 * nodes of a site ask each other. Any of them answers other nodes for all: a node asks one node of
 * each site in a round, another one each time, and a node that the answer leaves out is asked
 * itself. So what one node says of another never brings a node back or removes it; it only decides
 * who is asked next.
 */

import type { Peer } from './peer.ts';

/** Most nodes of a site that an answer tells of; of larger sites nothing follows from silence. */
export const MAX_MATES = 100;

/** A node's word on another one at its site. */
export type Mate = readonly [name: string, load: number];

/**
 * Lists the nodes that a node speaks for: those at its site that answered it the last time.
 *
 * @param site the node's own site; undefined: it speaks for nobody
 * @param peers all nodes that it knows
 */
export function matesOf(site: string | undefined, peers: Iterable<Peer>): Mate[] {
  const mates: Mate[] = [];
  if (site === undefined) return mates;
  for (const peer of peers) {
    const isWell = peer.misses === 0 && peer.trusted && !peer.draining;
    if (peer.site === site && isWell && mates.length < MAX_MATES)
      mates.push([peer.name, peer.load]);
  }
  return mates;
}

/**
 * Takes what a node says of the others at its site.
 *
 * @param peers all nodes that the listener knows
 * @returns nodes of that site that the speaker leaves out: each is to be asked itself
 */
export function hearMates(
  speaker: Peer,
  mates: readonly Mate[],
  peers: Iterable<Peer>,
): readonly Peer[] {
  if (speaker.site === undefined) return [];
  const loads = new Map(mates);
  const leftOut: Peer[] = [];
  for (const peer of peers) {
    if (peer.site !== speaker.site || peer === speaker) continue;
    const load = loads.get(peer.name);
    if (load !== undefined) peer.load = load;
    else if (mates.length < MAX_MATES) leftOut.push(peer);
  }
  return leftOut;
}
