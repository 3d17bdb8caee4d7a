/** A node as another one knows it: by its own reports, and by how it answers (NSDI 4.1, 4.2). */

import type { Millis } from '../../base/clock.ts';
import type { DepotRoom } from '../depot/depot-room.ts';
import { type Hash64, hashText } from './hrw.ts';

/** Nodes that may use this one as a peer (NSDI 4.1). */
export type PeerPolicy = 'open' | 'closed' | `org:${string}`;

/** A node's answer to a heartbeat. */
export interface PeerInfo {
  readonly name: string;
  readonly load: number;
  readonly weight: number;
  readonly policy: PeerPolicy;
  /** Address for clients, if it has one. */
  readonly publicUrl: string | undefined;
  /** IP addresses at which clients reach it, if it tells them. */
  readonly publicAddresses?: readonly string[] | undefined;
  readonly draining: boolean;
  /** Digest of what its policy serves; undefined at nodes of earlier versions. */
  readonly serves?: string | undefined;
  /** Part of what it can take that is free, 0 to 1; undefined at nodes of earlier versions. */
  readonly room?: number | undefined;
  /** Name of its depot, with which the ids of that end; undefined: it has none. */
  readonly depot?: string | undefined;
  /** Room that its depot still has; undefined: it takes nothing, or is of an earlier version. */
  readonly depotRoom?: DepotRoom | undefined;
  /** Names of other depots of whose exNodes it keeps copies; undefined: of none. */
  readonly keepsOf?: readonly string[] | undefined;
  /** Organisation that runs it, if it tells. */
  readonly org?: string | undefined;
  /** Place that it shares with other nodes, if its operator has named one (`site.ts`). */
  readonly site?: string | undefined;
  /** Nodes that it can use itself, with their weights. */
  readonly sees: readonly (readonly [name: string, weight: number])[];
  /** How long ago it heard each of these, in the same order; undefined at earlier versions. */
  readonly heard?: readonly Millis[] | undefined;
}

export interface Peer {
  readonly name: string;
  readonly seed: Hash64;
  /** Address for other nodes. */
  url: string;
  load: number;
  weight: number;
  policy: PeerPolicy;
  publicUrl: string | undefined;
  publicAddresses?: readonly string[] | undefined;
  draining: boolean;
  serves?: string | undefined;
  room?: number | undefined;
  depot?: string | undefined;
  depotRoom?: DepotRoom | undefined;
  keepsOf?: readonly string[] | undefined;
  org?: string | undefined;
  site?: string | undefined;
  sees: PeerInfo['sees'];
  heard?: PeerInfo['heard'];
  /** Round-trip times of the last heartbeats, oldest first, milliseconds. */
  readonly rtts: number[];
  /** Heartbeats in a row without an answer. */
  misses: number;
  /** False from a failed forward until the next good heartbeat. */
  trusted: boolean;
  /** Time before which a node that sent damaged chunks is not asked. */
  isolatedUntil: Millis;
  /** When it last sent anything, in answer to any request. */
  heardAt: Millis;
  /** When it last answered a heartbeat, and so told which nodes it sees. */
  toldAt: Millis;
  /** Since when it has not answered heartbeats or forwards; undefined: it does. */
  lostAt: Millis | undefined;
}

/** Returns the smallest recent round-trip time, which shows the network's part of it (NSDI 4.2). */
export function minRtt(peer: Peer): Millis {
  return Math.min(...peer.rtts);
}

/** Makes a node that has just been met at an address. */
export function newPeer(url: string, info: PeerInfo): Peer {
  return {
    ...info,
    url,
    seed: hashText(info.name),
    rtts: [],
    misses: 0,
    trusted: true,
    isolatedUntil: 0,
    heardAt: 0,
    toldAt: 0,
    lostAt: undefined,
  };
}
