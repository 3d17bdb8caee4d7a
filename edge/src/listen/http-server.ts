/** The HTTP server: limits, which requests are for the router, and errors of the router itself. */

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { MillraceError } from '@millrace/shared/base/errors';
import type { Log } from '@millrace/shared/base/log';
import { isDepotTarget } from '@millrace/shared/http/urls/depot-link';
import { httpsLocation } from '@millrace/shared/http/urls/https-redirect';
import { NEAR_PATH } from '@millrace/shared/http/urls/near-link';
import { SIGNED_PATH } from '@millrace/shared/http/urls/signed-link';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify';
import type { Config } from '../config/config.ts';
import { nodeUrl } from '../config/seeds.ts';
import { isOfNode } from '../peers/node-requests.ts';
import { handleClientErrors, onClientError, watchConnections } from './client-errors.ts';
import { H1_LIMITS, KEEP_ALIVE_MS, LISTEN_BACKLOG, REQUEST_MS } from './http-limits.ts';
import { isolateFiles } from './isolation.ts';
import { problemReply } from './problem-reply.ts';
import { listenReady } from './ready-acceptor.ts';
import type { TlsListener } from './tls/tls-listener.ts';
import { holdContinue } from './uploads.ts';

// An import would also load the fetch and WebSocket of Node's http: a tenth of the start.
const { createServer } = process.getBuiltinModule('node:http');

/** Stands in for Fastify's compilers, which need not be loaded: handlers read bodies themselves. */
function noSchemas(): never {
  throw new Error('this server has no schemas');
}

const PLAIN_PATHS: ReadonlySet<string> = new Set(['/-/live', '/-/ready', '/-/metrics']);
/** Route of all prefixed URLs, which the router must not try to understand. */
export const PREFIXED_ROUTE = '/-/prefixed';

/** Route of all requests for the nearest edge, which hold an origin's URL too. */
export const NEAR_ROUTE = '/-/nearest';

/** Route of all requests of the depot, whose bodies are files, and whose targets hold secrets. */
export const DEPOT_ROUTE = '/-/depot';

/**
 * Opens a second port, where other nodes reach this very process, and clients get nothing. Without
 * a secret it is for this machine only.
 *
 * @returns the server, and a function that takes no more connections
 */
export async function listenAlone(
  main: Server,
  config: Config,
  index: number,
): Promise<{ server: Server; stop: () => void }> {
  const server = createServer({ ...H1_LIMITS, keepAliveTimeout: KEEP_ALIVE_MS });
  handleClientErrors(server);
  server.on('request', (req, res) => {
    if (isOfNode(req)) return void main.emit('request', req, res);
    const { status, headers, body } = problemReply(new MillraceError('no-such-page'));
    res.writeHead(status, headers).end(body);
  });
  const stop = await listenReady(server, {
    host: config.secretFile === undefined ? '127.0.0.1' : config.host,
    port: config.port === 0 ? 0 : config.port + 1 + index,
  });
  return { server, stop };
}

/**
 * Begins to listen for clients: on --port and, with TLS, on --http-port as well.
 *
 * @param front the port for TLS, if there is one
 * @returns addresses to show to people, and the port to tell other nodes
 */
export async function listenOn(
  server: FastifyInstance,
  front: TlsListener | undefined,
  { host, port, httpPort }: Config,
): Promise<{ address: string; peerPort: number }> {
  const listen = async (at: number) => {
    const named = await server.listen({ host, port: at, backlog: LISTEN_BACKLOG });
    const { port: peerPort } = server.server.address() as AddressInfo;
    // Where all addresses are listened on, one that works is named, not `[::]`.
    const address = loopbackFor(host) === host ? named : nodeUrl(loopbackFor(host), peerPort);
    return { address, peerPort };
  };
  if (front === undefined) return listen(port);
  await server.ready();
  await front.listen(host, port);
  const secure = nodeUrl(loopbackFor(host), front.port, 'https');
  if (httpPort === undefined) return { address: secure, peerPort: front.port };
  const { address, peerPort } = await listen(httpPort);
  return { address: `${secure} and ${address}`, peerPort };
}

/**
 * Returns the address by which processes of this machine reach a server that listens on `address`.
 */
export function loopbackFor(address: string): string {
  return address === '0.0.0.0' || address === '::' ? '127.0.0.1' : address;
}

/**
 * Builds the server for all requests, not yet listening.
 *
 * @param tlsPort gives the port for TLS, if there is one, once it is known
 */
export function buildServer(config: Config, log: Log, tlsPort: () => number): FastifyInstance {
  const server = Fastify({
    loggerInstance: log as unknown as FastifyBaseLogger,
    logController: new Fastify.LogController({ disableRequestLogging: true }),
    exposeHeadRoutes: true,
    // Only Millrace's own paths are for the router; all other targets are an origin's URL, kept as
    // received.
    rewriteUrl: ({ url }: IncomingMessage) => routeOf(url),
    http: H1_LIMITS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    schemaController: {
      compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas },
    },
    // Requests have no body worth waiting for.
    bodyLimit: 64 * 1024,
    requestTimeout: REQUEST_MS,
    connectionTimeout: 0,
    forceCloseConnections: 'idle',
    // Also for the servers that Fastify makes for further addresses of one name.
    clientErrorHandler: (error, socket) => onClientError(error as Error, socket),
  }) as unknown as FastifyInstance;
  watchConnections(server.server);
  holdContinue(server.server, (req, res) => server.server.emit('request', req, res));
  isolateFiles(server, isOwn);
  /** Connections whose last request has come: bytes behind it are not a request. */
  const ended = new WeakSet<Socket>();
  server.addHook('onRequest', ({ raw }, reply, done) => {
    if (ended.has(raw.socket)) return void reply.hijack();
    // Behind an offer to change the protocol, Node's parser drops the rest of the packet, and
    // reports no faults until the next request that it can read.
    if (raw.headers.upgrade !== undefined && raw.httpVersionMajor === 1) {
      ended.add(raw.socket);
      reply.raw.shouldKeepAlive = false;
    }
    if (!hasTwoHosts(raw)) return done();
    ended.add(raw.socket);
    void send(
      reply.header('connection', 'close'),
      new MillraceError('bad-request', 'two Host fields'),
    );
  });
  if (config.tlsCert !== undefined && config.httpAnswers === 'redirect') {
    server.addHook('onRequest', (request, reply, done) => {
      if (staysPlain(request)) return done();
      const { host } = request.headers;
      const location = httpsLocation(host, request.originalUrl, tlsPort(), config.publicUrl);
      if (location === undefined) return void send(reply, new MillraceError('not-a-proxy'));
      reply.code(308).header('location', location).header('cache-control', 'no-store').send();
    });
  }
  const send = (reply: FastifyReply, error: MillraceError) => {
    const { status, headers, body } = problemReply(error);
    return reply.code(status).headers(headers).send(body);
  };
  server.setNotFoundHandler((request, reply) =>
    send(
      reply,
      new MillraceError(isOwn(request.originalUrl) ? 'no-such-page' : 'method-not-allowed'),
    ),
  );
  server.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => {
    const { statusCode = 500, message } = error;
    // The server's own errors: a body that is too large, or not of its declared type or length.
    if (statusCode < 500) return send(reply, new MillraceError('bad-request', message));
    log.error({ err: error }, 'internal error');
    return send(reply, new MillraceError('internal'));
  });
  return server;
}

/**
 * Returns true if there are several Host fields (RFC 9112 3.2): other programs may pick another
 * one.
 */
function hasTwoHosts({ rawHeaders }: IncomingMessage): boolean {
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  return hosts > 1;
}

/**
 * Returns true if a request needs no redirect to TLS: health checks, Prometheus, signed ones of
 * nodes.
 */
function staysPlain(request: FastifyRequest): boolean {
  if ((request.raw.socket as Partial<TLSSocket>).encrypted === true) return true;
  return (
    isOfNode({ headers: request.headers, url: request.originalUrl }) ||
    PLAIN_PATHS.has(request.originalUrl) ||
    request.originalUrl.startsWith(ACME_PATH)
  );
}

/** Where authorities look for answers to their challenges (RFC 8555 8.3). */
export const ACME_PATH = '/.well-known/acme-challenge/';

/** Connections on which a request with a body has come. */
const ending = new WeakSet<Socket>();

/**
 * Makes a request with a body, which is not read, the last of its connection: if proxies disagree
 * on where the body ends, the bytes behind it may not be a request of the client. HTTP/2 has no
 * such ambiguity.
 *
 * @returns true for a request behind such a body: it must not be answered
 */
export function isBehindBody(req: IncomingMessage, res: ServerResponse): boolean {
  if (req.httpVersionMajor > 1) return false;
  if (ending.has(req.socket)) return true;
  const { 'transfer-encoding': encoding, 'content-length': length = '0' } = req.headers;
  if (encoding !== undefined || length !== '0') {
    ending.add(req.socket);
    res.shouldKeepAlive = false;
  }
  return false;
}

/** Returns the path by which the router finds the handler of a target. */
function routeOf(url: string | undefined): string {
  if (isNear(url)) return NEAR_ROUTE;
  if (isDepotTarget(url)) return DEPOT_ROUTE;
  return isOwn(url) ? (url as string) : PREFIXED_ROUTE;
}

/** Returns true for targets that ask for the nearest edge of a file. */
function isNear(url: string | undefined): boolean {
  return url?.startsWith(`${NEAR_PATH}/`) === true;
}

function isOwn(url: string | undefined): boolean {
  // The rest of a signed link is an origin's URL.
  if (url?.startsWith(SIGNED_PATH) === true) return false;
  if (url?.startsWith(ACME_PATH) === true) return true;
  return url === '/' || url?.startsWith('/?') === true || url?.startsWith('/-/') === true;
}
