/** Builds the node: every part, wired together, not yet listening. */

import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AwakeClock } from '@millrace/shared/base/awake-clock';
import type { Log } from '@millrace/shared/base/log';
import { INSIDE } from '@millrace/shared/cdn/inside-message';
import { loadSteps } from '@millrace/shared/cdn/replicas';
import type { FastifyInstance } from 'fastify';
import { Administration } from './admin/administration.ts';
import { PeerCommands } from './admin/peer-commands.ts';
import { Pins } from './admin/pins.ts';
import { PrefetchList } from './admin/prefetch-list.ts';
import { Prefetcher } from './admin/prefetcher.ts';
import { Purges } from './admin/purges.ts';
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
import {
  buildServer,
  isBehindBody,
  listenAlone,
  listenOn,
  loopbackFor,
  PREFIXED_ROUTE,
} from './http-server.ts';
import { Metrics } from './metrics.ts';
import { ClusterAuth } from './peers/cluster-auth.ts';
import { Membership } from './peers/membership.ts';
import { Network } from './peers/network.ts';
import { PeerClient } from './peers/peer-client.ts';
import { nodeUrl } from './peers/seeds.ts';
import { AllowList } from './policy/allow-list.ts';
import { ClientAddress } from './policy/client-address.ts';
import { type Amplification, ClientLimits } from './policy/client-limits.ts';
import { LocalAccess } from './policy/local-access.ts';
import { OriginUse } from './policy/origin-use.ts';
import { OriginPolicy } from './policy/policy.ts';
import { adminRoutes, Drain } from './routes/admin.ts';
import { adminApi } from './routes/admin-api.ts';
import { commandRoutes } from './routes/commands.ts';
import { dashboardRoutes } from './routes/dashboard.ts';
import { InsideHandler } from './routes/inside.ts';
import { nodeRoutes } from './routes/node.ts';
import { type OwnRoutesOptions, ownRoutes, ownStatus } from './routes/own.ts';
import { PrefixedHandler } from './routes/prefixed.ts';
import { publishRoutes } from './routes/publish.ts';
import type { Transfers } from './routes/transfers.ts';
import { addCertificateGauge, openCertificates } from './tls/open-tls.ts';
import { TlsListener } from './tls/tls-listener.ts';
import type { WorkerLink } from './workers/worker-link.ts';

export interface App {
  readonly server: FastifyInstance;
  readonly transfers: Transfers;
  readonly metrics: Metrics;
  /** Begins to listen and to look for peers. @returns the address for clients */
  listen(): Promise<string>;
  /** Reads again what has been read from files that may have changed. */
  reload(): void;
  /** Takes no more connections; what is under way goes on. */
  stopAccepting(): void;
  /** Ends everything: running transfers are reset, caches written out. */
  close(): Promise<void>;
}

/** Chunk memory besides the cache's: for chunks on their way in or out. */
const IN_FLIGHT_BYTES = 32 * 1024 * 1024;

/**
 * Memory that chunks may take which clients are slow to take, besides the cache: above it each
 * transfer holds one, and clients that take nothing are not waited for.
 */
const HELD_BYTES = 256 * 1024 * 1024;
const RELIEF_INTERVAL_MS = 1000;

/** Connections to one other node at a time and per hop. */
const PEER_CONNECTIONS = 64;

const OFFLOAD_INTERVAL_MS = 1000;

const QUOTAS_INTERVAL_MS = 60_000;
/** Chunks that may be fetched for a client in vain, and how many more each second. */
const ALLOWANCE_CHUNKS = 256;
const REGAINED_CHUNKS = 1;

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

  const policy = new OriginPolicy(new AllowList(config.allowOrigin), config);
  const originUse = new OriginUse({ share: 1 / config.workers, wallClock });
  const localAccess =
    config.localTokenFile === undefined
      ? undefined
      : await LocalAccess.fromFile(config.localTokenFile);
  const purges = await Purges.open(config.cacheDir, log);
  const pins = await Pins.open({
    dir: config.cacheDir,
    chunkBytes: config.chunkSize,
    quotaBytes: pinQuota(config),
    maxLeaseMs: config.pinMax,
    share: 1 / config.workers,
    log,
    wallClock,
  });
  const isPinned = (path: string) => pins.isPinnedPath(path);
  const disk =
    config.cacheDir === undefined
      ? undefined
      : await DiskCache.open({ dir: config.cacheDir, maxBytes: config.cacheDisk, log, isPinned });

  const writeQuotas =
    config.cacheDir === undefined ? undefined : originUse.keepIn(config.cacheDir, log);
  const writing = setInterval(() => void writeQuotas?.(), QUOTAS_INTERVAL_MS).unref();

  const client = new OriginClient({
    policy,
    name: config.name,
    connections: config.originConnections,
    timeoutMs: config.originTimeout,
  });
  const records = new OriginRecords();
  const pointers = new PointerCache(disk, purges);
  pointers.onPointer = ({ version }) => pins.follow(version);
  const memory = new ChunkMemory({
    slotBytes: config.chunkSize,
    keepBytes: config.cacheMemory + IN_FLIGHT_BYTES,
    poison: process.env.MILLRACE_POISON_MEMORY === '1',
  });
  const cache = new MemoryCache(
    config.cacheMemory,
    // With a disk tier it is there that what is pinned stays.
    disk === undefined ? ({ version }) => pins.isPinned(version) : undefined,
  );
  pins.onReleased = () => {
    cache.release();
    disk?.release();
  };
  const load = () => loadSteps(prefixed.transfers.running + inside.running);
  const auth = new ClusterAuth(config.secretFile, wallClock);
  const commandSecret = config.secretFile ?? config.adminTokenFile;
  const commandAuth = commandSecret && new ClusterAuth(commandSecret, wallClock);
  const peerCommands = new PeerCommands({
    auth,
    commandAuth,
    purges,
    pins,
    peers: () => membership.table.peers,
    log,
  });
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
    shared: peerCommands,
    onHeartbeat: (peer, rtt) => metrics.peerRtt.set({ peer }, rtt / 1000),
  });
  const peerClient = new PeerClient({
    auth,
    memory,
    membership,
    purges,
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
    purges,
    source,
    network,
    now,
    onRaced: (winner) => metrics.races.inc({ winner: winner === 0 ? 'first' : 'retry' }),
  });
  const resolver = new FileResolver({
    client,
    records,
    pointers,
    purges,
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
    purges,
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
  /** Whether transfers may hold more chunks than they need to go on. */
  const spare = () => memory.figures.usedBytes - cache.bytes < HELD_BYTES;
  const purger = new ClientPurger({
    readTcpInfo: tcpInfo.read,
    now,
    onPurged: () => metrics.purges.inc(),
  });
  const limits = new ClientLimits({
    transfers: config.clientTransfers,
    requestsPerSecond: config.clientRequests,
    bytesPerSecond: config.clientRate,
    amplification: amplification(config),
  });
  metrics.gauge('clients_known', 'Client addresses that limits are kept for', () => limits.clients);
  const clientAddress = new ClientAddress(config.trustedProxy, config.proxyField);
  const prefixed = new PrefixedHandler({
    name: config.name,
    chunkBytes: config.chunkSize,
    defaultScheme: config.defaultScheme,
    policy,
    limits,
    originUse,
    clientAddress,
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
    spare,
  });
  const { transfers } = prefixed;
  const relieving = setInterval(() => transfers.setPressed(!spare()), RELIEF_INTERVAL_MS).unref();
  let settled = () => {};
  if (network !== undefined && disk !== undefined) {
    purges.settling = new Promise((resolve) => {
      settled = resolve;
    });
  }
  const prefetchList =
    config.cacheDir === undefined ? undefined : new PrefetchList(config.cacheDir, log);
  const prefetcher = new Prefetcher({
    resolver,
    chunks,
    chunkBytes: config.chunkSize,
    log,
    now,
    wallClock,
    clients: () => ({ transfers: transfers.running, bytes: metrics.clientBytesSum }),
    onBytes: (count) => metrics.prefetchedBytes.inc(count),
    onEnded: (state) => metrics.prefetches.inc({ state }),
    list: prefetchList,
    left: (await prefetchList?.read()) ?? [],
    check: (url) => policy.check(url, 'public'),
  });
  purges.onPurge = ({ kind }) => metrics.contentPurges.inc({ kind });
  const administration = new Administration({
    purges,
    pins,
    prefetcher,
    resolver,
    link,
    peers: network === undefined ? undefined : peerCommands,
    log,
    wallClock,
  });
  addGauges(metrics, cache, disk, pointers, transfers);
  addAdminGauges(metrics, administration);

  const certificates = openCertificates(config, log, wallClock);
  const reloads = [() => policy.reload(log)];
  const server = buildServer(config, log, () => front?.port ?? 0);
  const front =
    certificates === undefined
      ? undefined
      : new TlsListener(server.server, certificates, config.maxConnections);
  if (front !== undefined) transfers.onDrain(() => front.goAway());
  const onRefused = () => metrics.refused.inc();
  server.server.on('drop', onRefused);
  front?.onRefused(onRefused);
  if (certificates !== undefined) {
    reloads.push(() => certificates.reload());
    addCertificateGauge(metrics, certificates);
  }
  server.route({
    method: ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'],
    url: PREFIXED_ROUTE,
    // Before the server would read a body: requests here have none that counts.
    onRequest: (request, reply) => {
      reply.hijack();
      if (isBehindBody(request.raw, reply.raw)) return;
      if (network !== undefined && isInside(request.raw)) {
        return inside.handle(request.raw, reply.raw, request.originalUrl);
      }
      return prefixed.handle(request.raw, reply.raw, request.originalUrl);
    },
    handler() {},
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
    administration,
    link,
  };
  await server.register(ownRoutes, own);
  const check = new LinkCheck({ client, policy, records, now, onOriginBytes });
  await server.register(publishRoutes, {
    config,
    check,
    policy,
    limits,
    clientAddress,
    localAccess,
    membership,
    now,
  });
  const dashboard = async () => ({ status: await ownStatus(own), ...(await figures?.read()) });
  await server.register(dashboardRoutes, {
    config,
    policy,
    clientAddress,
    localAccess,
    collect: async () => link?.collect('dashboard') ?? JSON.stringify(await dashboard()),
    now,
    wallClock,
  });
  const admin = new Drain(config, transfers, log);
  await server.register(adminRoutes, { config, drain: admin, link });
  await server.register(adminApi, { config, administration, policy });
  if (network !== undefined) {
    await server.register(nodeRoutes, { membership, auth });
    await server.register(commandRoutes, { administration, purges, pins, auth, commandAuth });
  }

  link?.serve(
    {
      status: () => ownStatus(own),
      dashboard,
      setDraining: admin.setDraining,
      carryOut: administration.carryOut,
      meet: (urls) => membership.addSeeds(urls),
    },
    metrics.registry,
  );
  const { offloadAbove } = config;
  const offloading =
    offloadAbove > 0
      ? setInterval(() => transfers.offload(offloadAbove), OFFLOAD_INTERVAL_MS).unref()
      : undefined;

  const settle = () =>
    void membership.met().then(() => {
      settled();
      purges.settling = undefined;
      // Not before other nodes are known: alone it would ask the origin for what they have.
      prefetcher.begin();
    });
  let insideServer: Server | undefined;
  return {
    server,
    transfers,
    metrics,
    async listen() {
      const { address, peerPort } = await listenOn(server, front, config);
      if (link === undefined) {
        if (network !== undefined) await membership.start(peerPort);
        settle();
        return address;
      }
      insideServer = await listenAlone(server.server, config, link.index);
      const own = insideServer.address() as AddressInfo;
      await membership.start(own.port, true);
      settle();
      link.listening(address, nodeUrl(loopbackFor(own.address), own.port));
      return address;
    },
    reload() {
      for (const reload of reloads) reload();
    },
    stopAccepting() {
      front?.stopAccepting();
      server.server.close();
    },
    async close() {
      clearInterval(offloading);
      clearInterval(ticking);
      clearInterval(relieving);
      clearInterval(writing);
      figures?.stop();
      insideServer?.close();
      purger.stop();
      await prefetcher.close();
      await membership.stop();
      await peerCommands.stop();
      transfers.resetAll();
      inside.resetAll();
      peerClient.close();
      await transfers.idle();
      front?.destroy();
      await server.close();
      await client.close();
      await writeQuotas?.();
      await disk?.flush();
      await purges.close();
      await pins.close();
    },
  };
}

/** Nodes speak HTTP/1.1 to each other: their interim responses are written to the connection. */
function isInside(request: IncomingMessage): boolean {
  return request.headers[INSIDE.mark] !== undefined && request.httpVersionMajor === 1;
}

/** This process's part of what may be fetched for a client that it does not take. */
function amplification({ maxAmplification, chunkSize, workers }: Config): Amplification {
  return {
    ratio: maxAmplification,
    allowance: Math.ceil(ALLOWANCE_CHUNKS / workers) * chunkSize,
    regain: (REGAINED_CHUNKS * chunkSize) / workers,
  };
}

/** Bytes that pinned files may take: of the tier that keeps them, half unless it is said. */
function pinQuota({ pinQuota, cacheDir, cacheDisk, cacheMemory }: Config): number {
  const tier = cacheDir === undefined ? cacheMemory : cacheDisk;
  return Math.min(tier, pinQuota ?? Math.floor(tier / 2));
}

/** Whether the edge is a node of a network, be it one that others have yet to join. */
function isNode(config: Config): boolean {
  return config.peers.length > 0 || config.secretFile !== undefined || config.workers > 1;
}

function addAdminGauges(metrics: Metrics, administration: Administration): void {
  type Figure = keyof ReturnType<Administration['counts']>;
  const gauge = (name: string, help: string, read: Figure, together?: 'max') =>
    metrics.gauge(name, help, () => administration.counts()[read], together);
  gauge('purges_remembered', 'Purges that cached chunks are held against', 'purges', 'max');
  gauge('prefetches_active', 'Prefetches that run or wait', 'prefetches');
  gauge('pins', 'Files pinned', 'pins', 'max');
  gauge('pinned_bytes', 'Bytes charged for pins', 'pinnedBytes');
  gauge('pin_quota_bytes', 'Bytes that pins may be charged', 'pinQuotaBytes');
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
  metrics.gauge(
    'memory_cache_evicted_bytes',
    'Chunk bytes that left memory for newer ones',
    () => cache.evictedBytes,
  );
  if (disk === undefined) return;
  metrics.gauge('disk_cache_bytes', 'Disk space of cached chunks', () => disk.bytes);
  metrics.gauge('disk_cache_records', 'Records on disk', () => disk.count);
  metrics.gauge(
    'disk_cache_evicted_bytes',
    'Bytes that left the disk for newer ones',
    () => disk.evictedBytes,
  );
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
