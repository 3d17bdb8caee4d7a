/** Builds the node: every part, wired together, not yet listening. */

import type { IncomingMessage } from 'node:http';
import { MillraceError } from '@millrace/shared/base/errors';
import type { Log } from '@millrace/shared/base/log';
import Fastify, { type FastifyBaseLogger, type FastifyInstance, type FastifyReply } from 'fastify';
import { FileResolver } from './agent/file-resolver.ts';
import { ChunkMemory } from './cache/chunk-memory.ts';
import { ChunkStore } from './cache/chunk-store.ts';
import { DiskCache } from './cache/disk-cache.ts';
import { MemoryCache } from './cache/memory-cache.ts';
import { PointerCache } from './cache/pointer-cache.ts';
import type { Config } from './config.ts';
import { OriginClient } from './egress/origin-client.ts';
import { OriginRecords } from './egress/origin-records.ts';
import { OriginSource } from './egress/origin-source.ts';
import { Metrics } from './metrics.ts';
import { AllowList } from './policy/allow-list.ts';
import { ClientLimits } from './policy/client-limits.ts';
import { LocalAccess } from './policy/local-access.ts';
import { OriginPolicy } from './policy/policy.ts';
import { ownRoutes } from './routes/own.ts';
import { PrefixedHandler } from './routes/prefixed.ts';
import { problemReply } from './routes/problem-reply.ts';
import { acceptRawTargets } from './routes/raw-targets.ts';

export interface App {
  readonly server: FastifyInstance;
  readonly prefixed: PrefixedHandler;
  /** Ends everything: running transfers are reset, caches written out. */
  close(): Promise<void>;
}

/** Chunk memory besides the cache's: for chunks on their way in or out. */
const IN_FLIGHT_BYTES = 32 * 1024 * 1024;

/** Where prefixed URLs go, whatever they contain: the router must not try to understand them. */
const PREFIXED_ROUTE = '/-/prefixed';

/**
 * @param log structured log, pino's interface
 * @throws where a folder or file named in the settings cannot be used
 */
export async function buildApp(config: Config, log: Log): Promise<App> {
  const now = () => performance.now();
  const wallClock = () => Date.now();
  const metrics = new Metrics();
  const onOriginBytes = (count: number) => metrics.originBytes.inc(count);

  const policy = new OriginPolicy(new AllowList(config.allowOrigin));
  const localAccess =
    config.localTokenFile === undefined
      ? undefined
      : await LocalAccess.fromFile(config.localTokenFile);
  const disk =
    config.cacheDir === undefined
      ? undefined
      : await DiskCache.open({ dir: config.cacheDir, maxBytes: config.cacheDisk, log });

  const client = new OriginClient({
    policy,
    name: config.name,
    connections: config.originConnections,
    timeoutMs: config.originTimeout,
  });
  const records = new OriginRecords();
  const pointers = new PointerCache(disk);
  const memory = new ChunkMemory({
    slotBytes: config.chunkSize,
    keepBytes: config.cacheMemory + IN_FLIGHT_BYTES,
    poison: process.env.MILLRACE_POISON_MEMORY === '1',
  });
  const cache = new MemoryCache(config.cacheMemory);
  const source = new OriginSource({ client, records, pointers, memory, now, onOriginBytes });
  const chunks = new ChunkStore({ cache, memory, disk, source, now });
  const resolver = new FileResolver({
    client,
    records,
    pointers,
    chunks,
    memory,
    chunkBytes: config.chunkSize,
    now,
    wallClock,
    onOriginBytes,
  });
  const prefixed = new PrefixedHandler({
    name: config.name,
    chunkBytes: config.chunkSize,
    defaultScheme: config.defaultScheme,
    policy,
    limits: new ClientLimits({
      transfers: config.clientTransfers,
      requestsPerSecond: config.clientRequests,
      bytesPerSecond: config.clientRate,
    }),
    localAccess,
    resolver,
    chunks,
    client,
    records,
    metrics,
    log,
    now,
    wallClock,
    random: Math.random,
  });
  addGauges(metrics, cache, disk, pointers, prefixed);

  const server = buildServer(config, log);
  server.route({
    method: ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'],
    url: PREFIXED_ROUTE,
    handler: (request, reply) => {
      reply.hijack();
      return prefixed.handle(request.raw, reply.raw, request.originalUrl);
    },
  });
  await server.register(ownRoutes, {
    config,
    metrics,
    cache,
    disk,
    pointers,
    prefixed,
    startedAt: wallClock(),
  });

  return {
    server,
    prefixed,
    async close() {
      prefixed.resetAll();
      await prefixed.idle();
      await server.close();
      await client.close();
      await disk?.flush();
    },
  };
}

function buildServer(config: Config, log: Log): FastifyInstance {
  const server = Fastify({
    loggerInstance: log as unknown as FastifyBaseLogger,
    logController: new Fastify.LogController({ disableRequestLogging: true }),
    exposeHeadRoutes: true,
    // Only Millrace's own paths are for the router; all else is an origin's URL, kept as it came.
    rewriteUrl: (request: IncomingMessage) =>
      isOwn(request.url) ? (request.url as string) : PREFIXED_ROUTE,
    http: { maxHeaderSize: 32 * 1024, headersTimeout: 15_000 },
    keepAliveTimeout: 30_000,
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
  return url === '/' || url?.startsWith('/?') === true || url?.startsWith('/-/') === true;
}

function addGauges(
  metrics: Metrics,
  cache: MemoryCache,
  disk: DiskCache | undefined,
  pointers: PointerCache,
  prefixed: PrefixedHandler,
): void {
  metrics.gauge('transfers_active', 'Transfers under way', () => prefixed.running);
  metrics.gauge('files_known', 'Files whose version is known', () => pointers.count);
  metrics.gauge('memory_cache_bytes', 'Memory held by cached chunks', () => cache.bytes);
  metrics.gauge('memory_cache_chunks', 'Chunks in memory', () => cache.count);
  if (disk === undefined) return;
  metrics.gauge('disk_cache_bytes', 'Disk space of cached chunks', () => disk.bytes);
  metrics.gauge('disk_cache_records', 'Records on disk', () => disk.count);
  metrics.gauge(
    'disk_cache_damaged',
    'Damaged records found and dropped',
    () => disk.stats.damaged,
  );
  metrics.gauge(
    'disk_cache_skipped',
    'Records not stored: writes queue up',
    () => disk.stats.skipped,
  );
  metrics.gauge('disk_cache_failed', 'Records not stored: writing failed', () => disk.stats.failed);
}
