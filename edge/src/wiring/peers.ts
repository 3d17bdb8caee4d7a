/** Parts for other nodes: membership, commands to them, and requests for chunks. */

import { PeerSpeeds } from '@millrace/shared/cdn/fetch/peer-speeds';
import { PeerCommands } from '../admin/peer-commands.ts';
import type { Config } from '../config/config.ts';
import { ClusterAuth } from '../peers/cluster-auth.ts';
import { DepotPeers } from '../peers/depot-peers.ts';
import { Membership, type OwnService } from '../peers/membership.ts';
import { Network } from '../peers/network.ts';
import { PeerClient } from '../peers/peer-client.ts';
import { addPeerGauges } from './gauges.ts';
import type { NodeContext } from './node-context.ts';
import type { Storage } from './storage.ts';

export interface Peers {
  readonly auth: ClusterAuth;
  /** Signs commands of administrators; undefined if there is no secret for that. */
  readonly commandAuth: ClusterAuth | undefined;
  readonly commands: PeerCommands;
  readonly membership: Membership;
  /** Undefined if this node is alone. */
  readonly network: Network | undefined;
  /** Forecasts how fast a node sends, bytes per second; undefined: it has sent nothing yet. */
  readonly speedOf: (name: string) => number | undefined;
  /** Depots of other nodes; undefined without a network that has a secret. */
  readonly depots: DepotPeers | undefined;
  /** Resolves once other nodes have been met, and the purges that they have told are carried out. */
  readonly settled: Promise<void>;
  /** Resolves once other nodes have been met, if there are any; the disk is read from then on. */
  settle(): Promise<void>;
  /** Ends heartbeats and commands; chunks that are on their way still come. */
  stop(): Promise<void>;
  /** Closes the connections. */
  close(): void;
}

/** Connections to one other node at a time and per hop. */
const PEER_CONNECTIONS = 64;

/**
 * Opens the connections to other nodes.
 *
 * @param own this node's load and whether it is shutting down, read with each heartbeat
 * @param service what else clients' edges are chosen by
 */
export function openPeers(
  { config, log, metrics, rtts, now, wallClock }: NodeContext,
  { purges, pins, pointers, memory, disk }: Storage,
  own: () => { readonly load: number; readonly draining: boolean },
  service: () => OwnService,
): Peers {
  const auth = new ClusterAuth(config.secretFile, wallClock, config.name);
  const commandSecret = config.secretFile ?? config.adminTokenFile;
  const commandAuth =
    commandSecret === undefined
      ? undefined
      : new ClusterAuth(commandSecret, wallClock, config.name);
  const commands = new PeerCommands({
    auth,
    commandAuth,
    purges,
    pins,
    peers: () => membership.table.peers,
    log,
  });
  const membership = new Membership({
    name: config.name,
    weight: config.weight,
    policy: config.peerPolicy,
    org: config.org,
    site: config.site,
    publicUrl: config.publicUrl,
    publicAddresses: config.publicAddress,
    peerUrl: config.peerUrl,
    seeds: config.peers,
    auth,
    log,
    now,
    own,
    service,
    rtts,
    random: Math.random,
    shared: commands,
  });
  addPeerGauges(metrics, membership.table);
  const speeds = new PeerSpeeds();
  const client = new PeerClient({
    speeds,
    auth,
    memory,
    membership,
    purges,
    connections: PEER_CONNECTIONS,
    timeoutMs: config.originTimeout,
    now,
    wallClock,
    onPeerBytes: (count) => metrics.peerBytes.inc(count),
  });
  const network = isNode(config)
    ? new Network({
        membership,
        client,
        speeds,
        pointers,
        chunkBytes: config.chunkSize,
        maxHops: config.maxHops,
        metrics,
        now,
        random: Math.random,
      })
    : undefined;
  // Without a secret, every process of this machine could pass for a node.
  const mayAsk = network !== undefined && auth.hasSecret;
  const depots = mayAsk ? new DepotPeers({ membership, client, metrics }) : undefined;
  const settled = Promise.withResolvers<void>();
  if (network !== undefined && disk !== undefined) purges.settling = settled.promise;
  return {
    auth,
    commandAuth,
    commands,
    membership,
    network,
    speedOf: (name) => speeds.forecast(name),
    depots,
    settled: settled.promise,
    async settle() {
      await membership.met();
      settled.resolve();
      purges.settling = undefined;
    },
    async stop() {
      await membership.stop();
      await commands.stop();
    },
    close: () => client.close(),
  };
}

/** Returns true if the edge is a node of a network, even one that others have yet to join. */
function isNode(config: Config): boolean {
  return config.peers.length > 0 || config.secretFile !== undefined || config.workers > 1;
}
