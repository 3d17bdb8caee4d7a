/**
 * Lets an authority look at the port for TLS whether this edge has the name of its certificate
 * (TLS-ALPN-01, RFC 8737). The certificate of a challenge depends on the protocol that a client asks
 * for, and Node chooses certificates by names alone. So while an order waits for its authority, the
 * first message of each connection is read before TLS gets it; all other time costs one look for a file.
 */

import type { Socket } from 'node:net';
import { createServer, type Server } from 'node:tls';
import { type ClientHello, readClientHello } from '@millrace/shared/http/messages/client-hello';
import { HANDSHAKE_MS } from '../http-limits.ts';
import type { CertificateOrders } from './acme-folder.ts';

/** Protocol of the challenge (RFC 8737 6.2). */
const PROTOCOL = 'acme-tls/1';

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
    readFirst(socket, (hello) => {
      if (isChallenge(hello, name)) answer(socket, pair);
      else pass(socket);
    });
  });
}

/** Returns true for the message of an authority (RFC 8737 3): this protocol alone, and the name. */
function isChallenge(hello: ClientHello | undefined, name: string): boolean {
  if (hello?.serverName !== name) return false;
  return hello.protocols.length === 1 && hello.protocols[0] === PROTOCOL;
}

/** Reads the first message of a connection, puts its bytes back, and calls `go`, unless the client leaves. */
function readFirst(socket: Socket, go: (hello: ClientHello | undefined) => void): void {
  let bytes = Buffer.alloc(0);
  const look = () => {
    const more: Buffer | null = socket.read();
    if (more === null) return;
    bytes = Buffer.concat([bytes, more]);
    const hello = readClientHello(bytes);
    if (hello === 'partial') return;
    stop();
    socket.unshift(bytes);
    go(hello);
  };
  const leave = () => {
    stop();
    socket.destroy();
  };
  const late = setTimeout(leave, HANDSHAKE_MS).unref();
  const leaving = ['error', 'end', 'close'] as const;
  const stop = () => {
    clearTimeout(late);
    socket.off('readable', look);
    for (const event of leaving) socket.off(event, leave);
  };
  for (const event of leaving) socket.on(event, leave);
  socket.on('readable', look);
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
