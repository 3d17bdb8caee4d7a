/**
 * Chooses the nodes that a node works with (NSDI 4.2, 5.2): near ones, enough of them in any case,
 * and in a stable set, because a chunk's owner must stay the same for a while. Nodes that enough
 * others use already are passed over (`peer-use.ts`).
 */

import type { Millis } from '../../base/clock.ts';
import { minRtt, type Peer } from './peer.ts';
import { SAMPLES } from './peer-table.ts';
import { MIN_PEERS } from './replicas.ts';

/** Most peers (NSDI 4.2). */
export const MAX_PEERS = 120;
/** Round-trip time up to which a node counts as close (NSDI 4.2), milliseconds. */
const CLOSE_MS = 100;
/** Share of heartbeats in which an outsider must have been closer than the peer it replaces. */
const CLOSER_SHARE = 2 / 3;

/**
 * Selects the new peer set.
 *
 * @param current names of the present peers
 * @param usable nodes that can be used now, each with at least one round-trip time
 * @param isOpen false for nodes that enough others use
 */
export function selectPeers(
  current: ReadonlySet<string>,
  usable: readonly Peer[],
  isOpen: (peer: Peer) => boolean = () => true,
): Peer[] {
  const everybody: Candidate[] = usable.map((peer) => ({ peer, rtt: minRtt(peer) }));
  everybody.sort((a, b) => a.rtt - b.rtt || (a.peer.name < b.peer.name ? -1 : 1));
  const byDistance = withRoom(everybody, isOpen);
  const close = byDistance.filter(({ rtt }) => rtt <= CLOSE_MS).length;
  const size = Math.min(MAX_PEERS, Math.max(close, Math.min(MIN_PEERS, byDistance.length)));

  // Members stay in while there is room for them; the rest is filled up from near to far.
  const members: Candidate[] = [];
  const outsiders: Candidate[] = [];
  for (const candidate of byDistance) {
    const stays = members.length < size && current.has(candidate.peer.name);
    (stays ? members : outsiders).push(candidate);
  }
  members.push(...outsiders.splice(0, size - members.length));

  // An outsider replaces a member only if it has been closer for long enough.
  members.sort((a, b) => a.rtt - b.rtt);
  for (const outsider of outsiders) {
    const farthest = members.at(-1);
    if (farthest === undefined || farthest.rtt <= outsider.rtt) break;
    const { peer } = farthest;
    if (current.has(peer.name) && !isReliablyCloser(outsider.peer, peer)) continue;
    members[members.length - 1] = outsider;
    members.sort((a, b) => a.rtt - b.rtt);
  }
  return members.map(({ peer }) => peer);
}

/** Selects the nodes that are open, and the nearest others only if there would be too few. */
function withRoom(byDistance: Candidate[], isOpen: (peer: Peer) => boolean): Candidate[] {
  const open = byDistance.filter(({ peer }) => isOpen(peer));
  let missing = Math.min(MIN_PEERS, byDistance.length) - open.length;
  if (missing <= 0) return open;
  const among = new Set(open);
  return byDistance.filter((candidate) => among.has(candidate) || missing-- > 0);
}

/** A peer with its round-trip time, which is looked up many times. */
interface Candidate {
  readonly peer: Peer;
  readonly rtt: Millis;
}

/** Returns true if `outsider` was closer in two thirds of the last 32 heartbeats (NSDI 4.2). */
function isReliablyCloser(outsider: Peer, member: Peer): boolean {
  let closer = 0;
  for (let i = 1; i <= SAMPLES; i++) {
    const theirs = outsider.rtts.at(-i);
    const ours = member.rtts.at(-i);
    if (theirs !== undefined && ours !== undefined && theirs < ours) closer++;
  }
  return closer >= SAMPLES * CLOSER_SHARE;
}
