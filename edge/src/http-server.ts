/** The HTTP server: limits, which requests are for the router, and errors of the router itself. */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
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

/**
 * A second port that is this process's own, where other nodes reach it and no other. Without a
 * secret it is for this machine only.
 */
export async function listenAlone(main: Server, config: Config, index: number): Promise<Server> {
  const server = createServer({ maxHeaderSize: MAX_HEADER_BYTES, keepAliveTimeout: KEEP_ALIVE_MS });
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
    http: { maxHeaderSize: MAX_HEADER_BYTES, headersTimeout: 15_000 },
    keepAliveTimeout: KEEP_ALIVE_MS,
    // Requests have no body worth waiting for.
    bodyLimit: 64 * 1024,
    requestTimeout: 20_000,
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
  server.setErrorHandler((error, _request, reply) => {
    log.error({ err: error }, 'internal error');
    return send(reply, new MillraceError('internal'));
  });
  return server;
}

function isOwn(url: string | undefined): boolean {
  // The rest of a signed link is an origin's URL.
  if (url?.startsWith(SIGNED_PATH) === true) return false;
  return url === '/' || url?.startsWith('/?') === true || url?.startsWith('/-/') === true;
}
