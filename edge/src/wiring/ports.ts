/** Where a node listens: the server, TLS in front of it, and a port of its own for other nodes. */

import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { buildServer, listenAlone, listenOn } from '../http-server.ts';
import type { Transfers } from '../routes/transfers.ts';
import { addCertificateGauge, openCertificates } from '../tls/open-tls.ts';
import { TlsListener } from '../tls/tls-listener.ts';
import type { NodeContext } from './node-context.ts';

export interface Ports {
  /** Without routes so far. */
  readonly server: FastifyInstance;
  /** Begins to listen for clients. @returns addresses for people, and the port for other nodes */
  listen(): Promise<{ address: string; peerPort: number }>;
  /** Begins to listen for other nodes alone. @param index of this process among those of the edge */
  listenInside(index: number): Promise<AddressInfo>;
  /** Reads the certificate again. */
  reload(): void;
  /** Takes no more connections of clients; what is under way goes on. */
  stopAccepting(): void;
  /** Takes no more connections of other nodes. */
  stopInside(): void;
  /** Ends all connections. */
  close(): Promise<void>;
}

/**
 * @param transfers clients are told to go when these begin to drain
 * @throws Error where the certificate cannot be used
 */
export function openPorts(
  { config, log, metrics, wallClock }: NodeContext,
  transfers: Transfers,
): Ports {
  const certificates = openCertificates(config, log, wallClock);
  const server = buildServer(config, log, () => front?.port ?? 0);
  const front =
    certificates === undefined
      ? undefined
      : new TlsListener(server.server, certificates, config.maxConnections);
  if (front !== undefined) transfers.onDrain(() => front.goAway());
  const onRefused = () => metrics.refused.inc();
  server.server.on('drop', onRefused);
  front?.onRefused(onRefused);
  if (certificates !== undefined) addCertificateGauge(metrics, certificates);
  let inside: Server | undefined;
  return {
    server,
    listen: () => listenOn(server, front, config),
    async listenInside(index) {
      inside = await listenAlone(server.server, config, index);
      return inside.address() as AddressInfo;
    },
    reload: () => certificates?.reload(),
    stopAccepting() {
      front?.stopAccepting();
      server.server.close();
    },
    stopInside() {
      inside?.close();
    },
    async close() {
      front?.destroy();
      await server.close();
    },
  };
}
