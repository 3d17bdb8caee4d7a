/** The HTTP server: limits, which requests are for the router, and errors of the router itself. */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { MillraceError } from '@millrace/shared/base/errors';
import type { Log } from '@millrace/shared/base/log';
import { SIGNED_PATH } from '@millrace/shared/http/signed-link';
import Fastify, { type FastifyBaseLogger, type FastifyInstance, type FastifyReply } from 'fastify';
import type { Config } from './config.ts';
import { problemReply } from './routes/problem-reply.ts';
import { acceptRawTargets } from './routes/raw-targets.ts';

/** Where prefixed URLs go, whatever they contain: the router must not try to understand them. */
export const PREFIXED_ROUTE = '/-/prefixed';
const MAX_HEADER_BYTES = 32 * 1024;
const KEEP_ALIVE_MS = 30_000;
/** How long a client may take for the header, and for the request as a whole. */
const HEADERS_TIMEOUT_MS = 15_000;
const REQUEST_TIMEOUT_MS = 20_000;
/** How often it is looked who has taken longer. */
const TIMEOUT_CHECK_MS = 5000;
const LIMITS = {
  maxHeaderSize: MAX_HEADER_BYTES,
  headersTimeout: HEADERS_TIMEOUT_MS,
  requestTimeout: REQUEST_TIMEOUT_MS,
  connectionsCheckingInterval: TIMEOUT_CHECK_MS,
} as const;

/**
 * A second port that is this process's own, where other nodes reach it and no other. Without a
 * secret it is for this machine only.
 */
export async function listenAlone(main: Server, config: Config, index: number): Promise<Server> {
  const server = createServer({ ...LIMITS, keepAliveTimeout: KEEP_ALIVE_MS });
  server.on('request', (req, res) => main.emit('request', req, res));
  server.listen({
    host: config.secretFile === undefined ? '127.0.0.1' : config.host,
    port: config.port === 0 ? 0 : config.port + 1 + index,
    exclusive: true,
  });
  await once(server, 'listening');
  return server;
}

/** Where processes of this machine reach what listens on an address. */
export function loopbackFor(address: string): string {
  return address === '0.0.0.0' || address === '::' ? '127.0.0.1' : address;
}

/** The server for everything, not yet listening. */
export function buildServer(config: Config, log: Log): FastifyInstance {
  const server = Fastify({
    loggerInstance: log as unknown as FastifyBaseLogger,
    logController: new Fastify.LogController({ disableRequestLogging: true }),
    exposeHeadRoutes: true,
    // Only Millrace's own paths are for the router; all else is an origin's URL, kept as it came.
    rewriteUrl: (request: IncomingMessage) =>
      isOwn(request.url) ? (request.url as string) : PREFIXED_ROUTE,
    http: LIMITS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // Requests have no body worth waiting for.
    bodyLimit: 64 * 1024,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionTimeout: 0,
    forceCloseConnections: 'idle',
    // Answered in raw-targets.ts.
    clientErrorHandler() {},
  }) as unknown as FastifyInstance;
  server.server.maxConnections = config.maxConnections;
  acceptRawTargets(server.server);
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
    // The server's own complaints: a body that is too large, or not what it is said to be.
    if (statusCode < 500) return send(reply, new MillraceError('bad-request', message));
    log.error({ err: error }, 'internal error');
    return send(reply, new MillraceError('internal'));
  });
  return server;
}

/** Connections on which a request with a body has come. */
const ending = new WeakSet<Socket>();

/**
 * A request with a body, which nobody reads, is the last of its connection: where others disagree on
 * where it ends, what is behind it may be no request of the client's.
 *
 * @returns true for what is behind such a request: it is not to be answered
 */
export function isBehindBody(req: IncomingMessage, res: ServerResponse): boolean {
  if (ending.has(req.socket)) return true;
  const { 'transfer-encoding': encoding, 'content-length': length = '0' } = req.headers;
  if (encoding !== undefined || length !== '0') {
    ending.add(req.socket);
    res.shouldKeepAlive = false;
  }
  return false;
}

function isOwn(url: string | undefined): boolean {
  // The rest of a signed link is an origin's URL.
  if (url?.startsWith(SIGNED_PATH) === true) return false;
  return url === '/' || url?.startsWith('/?') === true || url?.startsWith('/-/') === true;
}
