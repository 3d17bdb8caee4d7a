/**
 * A separate port for the dashboard and administration. It gives them another web origin than the
 * files of strangers, and lets operators keep them to a network that strangers do not reach. The
 * main server answers its requests.
 */

import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { MillraceError } from '@millrace/shared/base/errors';
import type { CertificateWatch } from '@millrace/shared/node/tls/certificate-watch';
import type { FastifyInstance } from 'fastify';
import type { ConnectionLimit } from '../clients/connection-limit.ts';
import { nodeUrl } from '../config/seeds.ts';
import { handleClientErrors } from '../listen/client-errors.ts';
import { H1_LIMITS, KEEP_ALIVE_MS } from '../listen/http-limits.ts';
import { problemReply } from '../listen/problem-reply.ts';
import { TlsListener } from '../listen/tls/tls-listener.ts';

// As in http-server.ts.
const { createServer } = process.getBuiltinModule('node:http');

const ADMIN_ROUTE =
  /^\/-\/(?:dashboard|downloads(?:\.csv)?|drain|purge|prefetch|pins|refusals|allocations)(?:\/|$)/;
/** Routes of both ports: assets of pages, health checks and Prometheus. */
const SHARED_ROUTE = /^\/-\/(?:assets\/|(?:live|ready|status|metrics)$)/;

export interface AdminPortOptions {
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
  /** With certificates, the port speaks TLS. */
  readonly certificates: CertificateWatch | undefined;
  /** Counts the connections of this port. */
  readonly connections: ConnectionLimit;
}

export class AdminPort {
  readonly #options: AdminPortOptions;
  readonly #arrived = new WeakSet<IncomingMessage>();
  readonly #plain: Server | undefined;
  readonly #secure: TlsListener | undefined;

  /** @param main handles the requests; `separate` makes it keep the routes of the ports apart */
  constructor(main: Server, options: AdminPortOptions) {
    this.#options = options;
    const take = (req: IncomingMessage, res: ServerResponse) => {
      this.#arrived.add(req);
      return main.emit('request', req, res);
    };
    const { certificates, connections } = options;
    if (certificates !== undefined) {
      const emit = (_event: string, req: unknown, res: unknown) =>
        take(req as IncomingMessage, res as ServerResponse);
      this.#secure = new TlsListener({ emit }, certificates);
      this.#secure.countBy(connections);
      return;
    }
    this.#plain = createServer({ ...H1_LIMITS, keepAliveTimeout: KEEP_ALIVE_MS }, take);
    handleClientErrors(this.#plain);
    connections.watch(this.#plain);
  }

  /** Makes each port answer its own routes only. Call it before routes are added. */
  separate(server: FastifyInstance): void {
    server.addHook('onRequest', (request, reply, done) => {
      // The route, not the request's path, which has many spellings.
      const { url: route = '' } = request.routeOptions;
      const isAdmin = ADMIN_ROUTE.test(route);
      const arrived = this.#arrived.has(request.raw);
      if (arrived ? isAdmin || SHARED_ROUTE.test(route) : !isAdmin) return done();
      if (arrived && route === '/') return void reply.redirect('/-/dashboard', 303);
      const { status, headers, body } = problemReply(new MillraceError('no-such-page'));
      void reply.code(status).headers(headers).send(body);
    });
  }

  /** Begins to listen. @returns the URL to show to people */
  async listen(): Promise<string> {
    const { host, port } = this.#options;
    if (this.#secure !== undefined) {
      await this.#secure.listen(host, port);
      return nodeUrl(host, this.#secure.port, 'https');
    }
    const plain = this.#plain as Server;
    plain.listen({ host, port });
    await once(plain, 'listening');
    return nodeUrl(host, (plain.address() as AddressInfo).port);
  }

  /** Ends all connections. */
  close(): void {
    this.#secure?.destroy();
    this.#plain?.close();
    this.#plain?.closeAllConnections();
  }
}
