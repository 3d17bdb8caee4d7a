/** Ports of a node: the server, TLS in front of it, and a port of its own for other nodes. */

import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { AdminPort } from '../admin/admin-port.ts';
import { ConnectionLimit } from '../clients/connection-limit.ts';
import type { Exchanges } from '../clients/exchanges.ts';
import type { Config } from '../config/config.ts';
import { certificateOrders } from '../listen/acme/acme-folder.ts';
import { buildServer, listenAlone, listenOn } from '../listen/http-server.ts';
import { addCertificateGauge, openCertificates } from '../listen/tls/open-tls.ts';
import { TlsListener } from '../listen/tls/tls-listener.ts';
import type { NodeContext } from './node-context.ts';
import type { Peers } from './peers.ts';

export interface Ports {
  /** The server, which has no routes yet. */
  readonly server: FastifyInstance;
  /** Set if the dashboard and administration have a port of their own. */
  readonly admin: AdminPort | undefined;
  /**
   * Begins to listen for clients, and for administrators.
   *
   * @returns addresses to show to people, and the port for other nodes
   */
  listen(): Promise<{ address: string; peerPort: number; admin: string | undefined }>;
  /** Begins to listen for other nodes only. @param index of this process among those of the edge */
  listenInside(index: number): Promise<AddressInfo>;
  /** Connections of clients, other nodes and administrators that are open. */
  readonly connections: number;
  /** Closes connections that have had no request for a moment. */
  closeIdle(): void;
  /** Reads the certificate again. */
  reload(): void;
  /** Takes no more connections of clients; requests under way continue. */
  stopAccepting(): void;
  /** Takes no more connections of other nodes. */
  stopInside(): void;
  /** Ends all connections. */
  close(): Promise<void>;
}

/**
 * Opens the ports of a node, not yet listening.
 *
 * @param transfers when these begin to drain, clients are told to go
 * @param peers tell which connections are those of other nodes
 * @param isTrusted whether an address is that of a trusted proxy
 * @throws Error if the certificate cannot be used
 */
export function openPorts(
  context: NodeContext,
  transfers: Exchanges,
  { auth, commandAuth }: Pick<Peers, 'auth' | 'commandAuth'>,
  isTrusted: (address: string) => boolean,
): Ports {
  const { config, log, metrics, admissions, wallClock } = context;
  const certificates = openCertificates(config, log, wallClock);
  const server = buildServer(config, log, () => front?.port ?? 0);
  const orders = certificateOrders(config);
  const front =
    certificates === undefined ? undefined : new TlsListener(server.server, certificates, orders);
  if (front !== undefined) transfers.onDrain(() => front.goAway());
  const connections = openLimit(context, isTrusted);
  admissions.measure('connections', {
    use: () => connections.count,
    limit: config.maxConnections,
    perClient: connectionShare(config),
  });
  connections.watch(server.server);
  front?.countBy(connections);
  // With several processes, other nodes have a port of their own; strangers that find it must not
  // take its connections away from them.
  const insideConnections = openLimit(context, () => false);
  // Strangers that hold all connections of the public ports must not keep administrators out.
  const adminConnections = openLimit(context, () => false);
  const limits = [connections, insideConnections, adminConnections];
  for (const limit of limits) limit.watchRequests(server.server);
  const trust = (req: IncomingMessage) => {
    connections.trust(req);
    insideConnections.trust(req);
  };
  auth.onVerified = trust;
  if (commandAuth !== undefined) commandAuth.onVerified = trust;
  if (certificates !== undefined) addCertificateGauge(metrics, certificates);
  const failures = () => orders?.folder.state().failed.count ?? 0;
  const help = 'Orders of a certificate that have failed since the last one that has not';
  metrics.gauge('certificate_order_failures', help, failures, 'max');
  const { adminPort: port, adminHost: host } = config;
  const admin =
    port === undefined
      ? undefined
      : new AdminPort(server.server, { host, port, certificates, connections: adminConnections });
  let stopInside: (() => void) | undefined;
  return {
    server,
    admin,
    async listen() {
      const listening = await listenOn(server, front, config);
      return { ...listening, admin: await admin?.listen() };
    },
    async listenInside(index) {
      const inside = await listenAlone(server.server, config, index);
      stopInside = inside.stop;
      insideConnections.watch(inside.server);
      return inside.server.address() as AddressInfo;
    },
    get connections() {
      return limits.reduce((sum, { count }) => sum + count, 0);
    },
    closeIdle: () => connections.closeIdle(),
    reload: () => certificates?.reload(),
    stopAccepting() {
      front?.stopAccepting();
      server.server.close();
    },
    stopInside() {
      stopInside?.();
    },
    async close() {
      front?.destroy();
      admin?.close();
      await server.close();
    },
  };
}

/** Part of all connections that one client keeps by default. */
const SHARE_OF_CONNECTIONS = 1 / 8;

/** Returns the number of connections that one client keeps when all are taken. */
function connectionShare({ clientConnections, maxConnections }: Config): number {
  if (clientConnections > 0) return clientConnections;
  return Math.ceil(maxConnections * SHARE_OF_CONNECTIONS);
}

function openLimit(
  { config, metrics, admissions }: NodeContext,
  isTrusted: (address: string) => boolean,
): ConnectionLimit {
  return new ConnectionLimit({
    max: config.maxConnections,
    share: connectionShare(config),
    isTrusted,
    onRefusal: admissions.refused,
    onTurnedAway: () => metrics.refused.inc(),
  });
}
