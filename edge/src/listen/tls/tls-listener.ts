/**
 * The port for TLS: HTTP/2 for clients that offer it (ALPN, RFC 7301), HTTP/1.1 for all others.
 * Requests of both go to the main server.
 */

import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { secureContextOptions } from '@millrace/shared/node/tls/certificate';
import type { CertificateWatch } from '@millrace/shared/node/tls/certificate-watch';
import type { ConnectionLimit } from '../../clients/connection-limit.ts';
import type { CertificateOrders } from '../acme/acme-folder.ts';
import { answerChallenges } from '../acme/tls-challenge.ts';
import { handleClientErrors } from '../client-errors.ts';
import { H1_LIMITS, HANDSHAKE_MS, KEEP_ALIVE_MS, LISTEN_BACKLOG } from '../http-limits.ts';
import { holdContinue } from '../uploads.ts';
import { H2Sessions } from './h2-sessions.ts';

export class TlsListener {
  readonly #server: Server;
  readonly #h2: H2Sessions;
  readonly #certificates: CertificateWatch;

  /**
   * @param main gets the requests
   * @param orders answered for at this port, if the edge orders its certificate
   */
  constructor(
    main: { emit(event: 'request', req: unknown, res: unknown): boolean },
    certificates: CertificateWatch,
    orders?: CertificateOrders,
  ) {
    this.#certificates = certificates;
    this.#h2 = new H2Sessions((req, res) => main.emit('request', req, res));
    this.#server = createServer({
      ...secureContextOptions(certificates.current),
      ALPNProtocols: ['h2', 'http/1.1'],
      handshakeTimeout: HANDSHAKE_MS,
      ...H1_LIMITS,
      keepAliveTimeout: KEEP_ALIVE_MS,
    });
    if (orders !== undefined) answerChallenges(this.#server, orders);
    this.#server.on('request', (req, res) => main.emit('request', req, res));
    holdContinue(this.#server, (req, res) => main.emit('request', req, res));
    handleClientErrors(this.#server, 'secureConnection');
    // A handshake that fails is not a bad request: there is no client to answer.
    this.#server.removeAllListeners('tlsClientError');
    this.#server.on('tlsClientError', (_error, socket) => socket.destroy());
    this.#chooseProtocol();
  }

  /** The port, once it listens. */
  get port(): number {
    return (this.#server.address() as AddressInfo | null)?.port ?? 0;
  }

  /** Makes a limit count the connections, from before their handshake on. */
  countBy(limit: ConnectionLimit): void {
    limit.watch(this.#server);
  }

  /** Begins to listen. */
  async listen(host: string, port: number): Promise<void> {
    this.#server.listen({ host, port, backlog: LISTEN_BACKLOG });
    await once(this.#server, 'listening');
    this.#certificates.start((certificate) =>
      // Open connections keep the certificate that they were made with.
      this.#server.setSecureContext(secureContextOptions(certificate)),
    );
  }

  /** Tells clients of HTTP/2 to open no more streams on their connections. */
  goAway(): void {
    this.#h2.goAway();
  }

  /** Takes no more connections; idle ones are closed. */
  stopAccepting(): void {
    this.#certificates.stop();
    this.#server.close();
    this.#server.closeIdleConnections();
    this.#h2.goAway();
  }

  /** Ends all connections. */
  destroy(): void {
    this.stopAccepting();
    this.#server.closeAllConnections();
    this.#h2.destroy();
  }

  #chooseProtocol(): void {
    const listeners = this.#server.listeners('secureConnection');
    this.#server.removeAllListeners('secureConnection');
    this.#server.on('secureConnection', (socket: TLSSocket) => {
      if (socket.alpnProtocol === 'h2') return this.#h2.take(socket);
      for (const http1 of listeners) http1.call(this.#server, socket);
    });
  }
}
