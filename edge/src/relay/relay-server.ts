/** The end of the relay in the process that has the folder of the depot. */

import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { MAX_HEADER_BYTES } from '../listen/http-limits.ts';
import { isProved, proofOf } from '../policy/proofs.ts';
import { RELAY_FIELDS, relayPath } from './relay-protocol.ts';

const { createServer } = process.getBuiltinModule('node:http');

/**
 * Takes a relayed request.
 *
 * @param client address of the client
 */
export type TakeRelayed = (req: IncomingMessage, res: ServerResponse, client: string) => void;

export interface RelayServer {
  /** Takes no more requests, and ends those under way. */
  close(): Promise<void>;
}

/**
 * Opens the socket of a depot, which this process has locked: a socket that is there already is that
 * of a process that has died.
 *
 * @param dir folder of the depot
 * @param key that requests must name
 * @throws Error if the file system has no sockets
 */
export async function openRelayServer(
  dir: string,
  key: string,
  take: TakeRelayed,
): Promise<RelayServer> {
  const proof = proofOf(key);
  const onRequest = (req: IncomingMessage, res: ServerResponse) => {
    const { [RELAY_FIELDS.key]: given, [RELAY_FIELDS.client]: client } = req.headers;
    if (typeof given !== 'string' || typeof client !== 'string') return void req.socket.destroy();
    if (!isProved(proofOf(given), proof)) return void req.socket.destroy();
    take(req, res, client);
  };
  // The other process holds clients to the limits on time, and ends connections here by itself.
  const server = createServer({
    maxHeaderSize: 2 * MAX_HEADER_BYTES,
    headersTimeout: 0,
    requestTimeout: 0,
    keepAliveTimeout: 0,
  });
  server.on('request', onRequest);
  // The handler says when the body is to come.
  server.on('checkContinue', onRequest);
  const path = relayPath(dir);
  if (process.platform !== 'win32') await rm(path, { force: true });
  // Exclusive: otherwise the supervisor would listen, and deal connections out to all processes.
  server.listen({ path, exclusive: true });
  await once(server, 'listening');
  return {
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
