/**
 * Decides how many nodes serve a chunk, and which of them this time (NSDI 5.1 figure 8, 5.4): the
 * first hop spreads requests over several replicas, so that a burst does not hit one node.
 */

import type { Random } from '../../base/clock.ts';

/** Share of the minimum peer set that the replication factor is capped at (NSDI 5.4). */
const MAX_SHARE = 0.2;
/** Fewest peers that a node wants (NSDI 5.2). */
export const MIN_PEERS = 60;
/** Transfers that make one step of load: small differences must not decide where chunks go. */
const TRANSFERS_PER_LOAD = 8;

/**
 * Converts a node's load to the steps that others see. @param transfers under way, of clients and
 * of nodes
 */
export function loadSteps(transfers: number): number {
  return Math.floor(transfers / TRANSFERS_PER_LOAD);
}

/**
 * Returns the replication factor of NSDI 5.4, equation 1: the number of replicas with which a
 * client's parallel fetches spread evenly over all peers.
 *
 * @param peers nodes in the peer set, this one included
 * @param chunkBytes size of a chunk
 * @param memoryPerClient buffer that one client's fetches may fill, bytes
 * @returns 1 to 12
 */
export function replicationFactor(
  peers: number,
  chunkBytes: number,
  memoryPerClient: number,
): number {
  const factor = Math.round((peers * chunkBytes) / memoryPerClient);
  return Math.max(1, Math.min(Math.floor(MIN_PEERS * MAX_SHARE), factor));
}

/**
 * Picks one of the replicas with the least load, at random (figure 8).
 *
 * @param replicas not empty
 */
export function pickReplica<N extends { readonly load: number }>(
  replicas: readonly N[],
  random: Random,
): N {
  const least = Math.min(...replicas.map((node) => node.load));
  const candidates = replicas.filter((node) => node.load === least);
  return candidates[Math.floor(random() * candidates.length)] as N;
}
