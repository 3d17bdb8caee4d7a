/** Builds the node: every part, wired together, not yet listening. */

import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AwakeClock } from '@millrace/shared/base/awake-clock';
import type { Log } from '@millrace/shared/base/log';
import { INSIDE } from '@millrace/shared/cdn/inside-message';
import type { FastifyInstance } from 'fastify';
import { FileResolver } from './agent/file-resolver.ts';
import { ChunkMemory } from './cache/chunk-memory.ts';
import { ChunkStore } from './cache/chunk-store.ts';
import { DiskCache } from './cache/disk-cache.ts';
import { MemoryCache } from './cache/memory-cache.ts';
import { PointerCache } from './cache/pointer-cache.ts';
import { LinkCheck } from './check/link-check.ts';
import { ClientPurger } from './clients/purger.ts';
import { openTcpInfo } from './clients/tcp-info.ts';
import type { Config } from './config.ts';
import { Figures } from './dashboard/figures.ts';
import { OriginClient } from './egress/origin-client.ts';
import { OriginRecords } from './egress/origin-records.ts';
import { OriginSource } from './egress/origin-source.ts';
import { buildServer, listenAlone, loopbackFor, PREFIXED_ROUTE } from './http-server.ts';
import { Metrics } from './metrics.ts';
import { ClusterAuth } from './peers/cluster-auth.ts';
import { Membership } from './peers/membership.ts';
import { Network } from './peers/network.ts';
import { PeerClient } from './peers/peer-client.ts';
import { nodeUrl } from './peers/seeds.ts';
import { AllowList } from './policy/allow-list.ts';
import { ClientLimits } from './policy/client-limits.ts';
import { LocalAccess } from './policy/local-access.ts';
import { OriginPolicy } from './policy/policy.ts';
import { adminRoutes, Drain } from './routes/admin.ts';
import { dashboardRoutes } from './routes/dashboard.ts';
import { InsideHandler } from './routes/inside.ts';
import { nodeRoutes } from './routes/node.ts';
import { type OwnRoutesOptions, ownRoutes, ownStatus } from './routes/own.ts';
import { PrefixedHandler } from './routes/prefixed.ts';
import { publishRoutes } from './routes/publish.ts';
import type { Transfers } from './routes/transfers.ts';
import type { WorkerLink } from './workers/worker-link.ts';

export interface App {
  readonly server: FastifyInstance;
  readonly transfers: Transfers;
  readonly metrics: Metrics;
  /** Begins to listen and to look for peers. @returns the address for clients */
  listen(): Promise<string>;
  /** Ends everything: running transfers are reset, caches written out. */
  close(): Promise<void>;
}

/** Chunk memory besides the cache's: for chunks on their way in or out. */
const IN_FLIGHT_BYTES = 32 * 1024 * 1024;

/** Connections to one other node at a time and per hop. */
const PEER_CONNECTIONS = 64;
/** Transfers that make one step of load: small differences must not decide where chunks go. */
const TRANSFERS_PER_LOAD = 8;

const OFFLOAD_INTERVAL_MS = 1000;

/** A loop turn of a busy node takes tens of milliseconds; one of hundreds holds everything up. */
const AWAKE_TICK_MS = 100;
const MAX_AWAKE_STEP_MS = 3 * AWAKE_TICK_MS;

/**
 * @param log structured log, pino's interface
 * @param link to the supervisor, where this is one of several processes
 * @throws where a folder or file named in the settings cannot be used
 */
export async function buildApp(config: Config, log: Log, link?: WorkerLink): Promise<App> {
  const awake = new AwakeClock(performance.now(), MAX_AWAKE_STEP_MS);
  const ticking = setInterval(() => awake.tick(performance.now()), AWAKE_TICK_MS).unref();
  const now = () => awake.read(performance.now());
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
  const load = () => Math.floor((prefixed.transfers.running + inside.running) / TRANSFERS_PER_LOAD);
  const auth = new ClusterAuth(config.secretFile, wallClock);
  const membership = new Membership({
    name: config.name,
    weight: config.weight,
    policy: config.peerPolicy,
    org: config.org,
    publicUrl: config.publicUrl,
    peerUrl: config.peerUrl,
    seeds: config.peers,
    auth,
    log,
    now,
    own: () => ({ load: load(), draining: prefixed.transfers.draining }),
    onHeartbeat: (peer, rtt) => metrics.peerRtt.set({ peer }, rtt / 1000),
  });
  const peerClient = new PeerClient({
    auth,
    memory,
    membership,
    connections: PEER_CONNECTIONS,
    timeoutMs: config.originTimeout,
    now,
    wallClock,
    onPeerBytes: (count) => metrics.peerBytes.inc(count),
  });
  const network = isNode(config)
    ? new Network({
        membership,
        client: peerClient,
        pointers,
        chunkBytes: config.chunkSize,
        maxHops: config.maxHops,
        metrics,
        now,
        random: Math.random,
      })
    : undefined;
  const source = new OriginSource({ client, records, pointers, memory, now, onOriginBytes });
  const chunks = new ChunkStore({
    cache,
    memory,
    disk,
    source,
    network,
    now,
    onRaced: (winner) => metrics.races.inc({ winner: winner === 0 ? 'first' : 'retry' }),
  });
  const resolver = new FileResolver({
    client,
    records,
    pointers,
    chunks,
    memory,
    network,
    chunkBytes: config.chunkSize,
    now,
    wallClock,
    onOriginBytes,
  });
  const inside = new InsideHandler({
    name: config.name,
    auth,
    policy,
    resolver,
    chunks,
    metrics,
    log,
    load,
    wallClock,
  });
  // Without a token nobody can look at them.
  const figures = config.adminTokenFile && new Figures(metrics, config.chunkSize, wallClock);
  figures?.start();
  const tcpInfo = await openTcpInfo();
  if (tcpInfo.reason !== undefined) {
    log.warn({ reason: tcpInfo.reason }, 'vanished clients will only be noticed after minutes');
  }
  const purger = new ClientPurger({
    readTcpInfo: tcpInfo.read,
    now,
    onPurged: () => metrics.purges.inc(),
  });
  const limits = new ClientLimits({
    transfers: config.clientTransfers,
    requestsPerSecond: config.clientRequests,
    bytesPerSecond: config.clientRate,
  });
  const prefixed = new PrefixedHandler({
    name: config.name,
    chunkBytes: config.chunkSize,
    defaultScheme: config.defaultScheme,
    policy,
    limits,
    localAccess,
    resolver,
    chunks,
    client,
    purger,
    records,
    metrics,
    log,
    onChunk: figures?.onChunk,
    now,
    wallClock,
    random: Math.random,
  });
  const { transfers } = prefixed;
  addGauges(metrics, cache, disk, pointers, transfers);

  const server = buildServer(config, log);
  server.route({
    method: ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'],
    url: PREFIXED_ROUTE,
    handler: (request, reply) => {
      reply.hijack();
      if (network !== undefined && request.headers[INSIDE.mark] !== undefined) {
        return inside.handle(request.raw, reply.raw, request.originalUrl);
      }
      return prefixed.handle(request.raw, reply.raw, request.originalUrl);
    },
  });
  const own: OwnRoutesOptions = {
    config,
    metrics,
    cache,
    disk,
    pointers,
    transfers,
    membership,
    startedAt: wallClock(),
    link,
  };
  await server.register(ownRoutes, own);
  const check = new LinkCheck({ client, policy, records, now, onOriginBytes });
  await server.register(publishRoutes, { config, check, limits, localAccess, membership, now });
  const dashboard = async () => ({ status: await ownStatus(own), ...(await figures?.read()) });
  await server.register(dashboardRoutes, {
    config,
    localAccess,
    collect: async () => link?.collect('dashboard') ?? JSON.stringify(await dashboard()),
    now,
    wallClock,
  });
  const admin = new Drain(config, transfers, log);
  await server.register(adminRoutes, { config, drain: admin, link });
  if (network !== undefined) await server.register(nodeRoutes, { membership, auth });

  link?.serve(
    {
      status: () => ownStatus(own),
      dashboard,
      setDraining: admin.setDraining,
      meet: (urls) => membership.addSeeds(urls),
    },
    metrics.registry,
  );
  const { offloadAbove } = config;
  const offloading =
    offloadAbove > 0
      ? setInterval(() => transfers.offload(offloadAbove), OFFLOAD_INTERVAL_MS).unref()
      : undefined;

  let insideServer: Server | undefined;
  return {
    server,
    transfers,
    metrics,
    async listen() {
      const address = await server.listen({ host: config.host, port: config.port });
      const { port } = server.server.address() as AddressInfo;
      if (link === undefined) {
        if (network !== undefined) await membership.start(port);
        return address;
      }
      insideServer = await listenAlone(server.server, config, link.index);
      const own = insideServer.address() as AddressInfo;
      await membership.start(own.port, true);
      link.listening(address, nodeUrl(loopbackFor(own.address), own.port));
      return address;
    },
    async close() {
      clearInterval(offloading);
      clearInterval(ticking);
      figures?.stop();
      insideServer?.close();
      purger.stop();
      await membership.stop();
      transfers.resetAll();
      inside.resetAll();
      peerClient.close();
      await transfers.idle();
      await server.close();
      await client.close();
      await disk?.flush();
    },
  };
}

/** Whether the edge is a node of a network, be it one that others have yet to join. */
function isNode(config: Config): boolean {
  return config.peers.length > 0 || config.secretFile !== undefined || config.workers > 1;
}

function addGauges(
  metrics: Metrics,
  cache: MemoryCache,
  disk: DiskCache | undefined,
  pointers: PointerCache,
  transfers: Transfers,
): void {
  metrics.gauge('transfers_active', 'Transfers under way', () => transfers.running);
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
