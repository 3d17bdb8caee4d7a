/**
 * Lets an authority look at the port for TLS whether this edge has the name of its certificate
 * (TLS-ALPN-01, RFC 8737). The certificate of a challenge depends on the protocol that a client asks
 * for, and Node chooses certificates by names alone. So while an order waits for its authority, the
 * first message of each connection is read before TLS gets it; all other time costs one look for a file.
 */

import type { Socket } from 'node:net';
import { createServer, type Server } from 'node:tls';
import {
  getExtensionData,
  readTlsClientHello,
  type TlsClientHelloMessage,
} from 'read-tls-client-hello';
import { HANDSHAKE_MS } from '../http-limits.ts';
import type { CertificateOrders } from './acme-folder.ts';

/** Protocol of the challenge (RFC 8737 6.2). */
const PROTOCOL = 'acme-tls/1';

/** Events of a socket whose client sends no more. */
const LEAVING = ['error', 'end'] as const;

/** Answers challenges on a server for TLS, which listens nowhere yet. */
export function answerChallenges(
  server: Pick<Server, 'listeners' | 'removeAllListeners' | 'on'>,
  { folder, name }: CertificateOrders,
): void {
  const usual = server.listeners('connection');
  const pass = (socket: Socket) => {
    for (const listener of usual) listener.call(server, socket);
  };
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    const pair = folder.challenge();
    if (pair === undefined) return pass(socket);
    void readFirst(socket, (hello) => {
      if (isChallenge(hello, name)) answer(socket, pair);
      else pass(socket);
    });
  });
}

/** Returns true for the message of an authority (RFC 8737 3): this protocol alone, and the name. */
function isChallenge(hello: TlsClientHelloMessage | undefined, name: string): boolean {
  if (hello === undefined) return false;
  const { serverName } = getExtensionData(hello, 'server_name') ?? {};
  const { protocols = [] } =
    getExtensionData(hello, 'application_layer_protocol_negotiation') ?? {};
  if (serverName?.toLowerCase() !== name) return false;
  return protocols.length === 1 && protocols[0] === PROTOCOL;
}

/**
 * Reads the first message of a connection, puts its bytes back, and calls `go` with what it asks
 * for, unless the client leaves. The library reads one record, which is of 64 KiB at most, and sets
 * no limit of time: that is the one of a handshake, set here. `go` gets undefined for bytes that are
 * no such message, and for a message that is cut into several records. TLS judges these.
 */
async function readFirst(
  socket: Socket,
  go: (hello: TlsClientHelloMessage | undefined) => void,
): Promise<void> {
  const leave = () => void socket.destroy();
  const late = setTimeout(leave, HANDSHAKE_MS).unref();
  for (const event of LEAVING) socket.on(event, leave);
  const hello = await readTlsClientHello(socket).catch(() => undefined);
  clearTimeout(late);
  for (const event of LEAVING) socket.off(event, leave);
  if (!socket.destroyed) go(hello);
}

/** Shakes hands with the certificate of the challenge, and closes: nothing is said (RFC 8737 3). */
function answer(socket: Socket, pair: Buffer): void {
  const how = { key: pair, cert: pair, ALPNProtocols: [PROTOCOL], handshakeTimeout: HANDSHAKE_MS };
  const server = createServer({ ...how, minVersion: 'TLSv1.2' }, (secure) => {
    secure.on('error', () => secure.destroy());
    secure.setTimeout(HANDSHAKE_MS, () => secure.destroy());
    secure.resume().end();
  });
  server.on('tlsClientError', (_error, failed) => failed.destroy());
  server.emit('connection', socket);
}
