/** Parts that fetch files, for clients and for other nodes: from caches, peers and origins. */

import { ClientOrigins } from '../admission/client-origins.ts';
import { ChunkStore } from '../agent/chunk-store.ts';
import { DepotSource } from '../agent/depot-source.ts';
import { FileResolver } from '../agent/file-resolver.ts';
import type { Depot } from '../depot/depot.ts';
import { OriginAccess } from '../egress/origin-access.ts';
import { OriginClient } from '../egress/origin-client.ts';
import { OriginRecords } from '../egress/origin-records.ts';
import { originShare } from '../egress/origin-shares.ts';
import { OriginSource } from '../egress/origin-source.ts';
import type { ExnodeKeeper } from '../keeping/exnode-keeper.ts';
import type { OriginPolicy } from '../policy/policy.ts';
import { InsideHandler } from '../routes/inside.ts';
import { Streams } from '../streams/streams.ts';
import type { NodeContext } from './node-context.ts';
import type { Peers } from './peers.ts';
import type { Storage } from './storage.ts';

export interface Files {
  readonly client: OriginClient;
  readonly clientOrigins: ClientOrigins;
  readonly records: OriginRecords;
  readonly chunks: ChunkStore;
  readonly streams: Streams;
  readonly resolver: FileResolver;
  /** Answers other nodes. */
  readonly inside: InsideHandler;
  /** Counts bytes that come from origins. */
  readonly onOriginBytes: (count: number) => void;
}

/** Bytes that a stream without ranges may run ahead of its clients, and its share of the memory. */
const MAX_AHEAD_BYTES = 64 * 1024 * 1024;
const AHEAD_SHARE = 1 / 4;
/** Largest file without ranges that is kept, as a share of the tier that keeps it. */
const STREAM_SHARE = 1 / 2;

/**
 * Opens the parts that fetch files: origins, chunks, versions, the handler of other nodes.
 *
 * @param depot this node's own, if it has one
 * @param copies exNodes of other depots that it keeps, if it does
 * @param load this node's load, told with every answer to another node
 */
export function openFiles(
  context: NodeContext,
  { cache, memory, disk, purges, pointers }: Storage,
  { auth, network, depots }: Peers,
  policy: OriginPolicy,
  depot: Depot | undefined,
  copies: ExnodeKeeper | undefined,
  load: () => number,
): Files {
  const { config, log, metrics, admissions, clientAddress, account, now, wallClock } = context;
  const onOriginBytes = (count: number) => metrics.originBytes.inc(count);
  const clientOrigins = new ClientOrigins({
    perMinute: config.clientOrigins,
    clientAddress,
    onRefusal: admissions.refused,
  });
  if (config.clientOrigins > 0) {
    admissions.measure('newOrigins', { perClient: config.clientOrigins });
  }
  const client = new OriginClient({
    policy,
    name: config.name,
    connections: config.originConnections,
    timeoutMs: config.originTimeout,
    maxOrigins: config.maxOrigins,
    clientOrigins,
    now,
    onRefusal: admissions.refused,
    tellsTraces: config.traceOrigins === 'yes',
    ...(config.originKeysFile === undefined ? {} : keyed(context, policy)),
  });
  admissions.measure('origins', {
    use: () => client.originsInUse,
    limit: config.maxOrigins,
    perClient: originShare(config.maxOrigins),
  });
  const records = new OriginRecords();
  const origin = new OriginSource({ client, records, pointers, memory, now, onOriginBytes });
  const depotSource = new DepotSource({ origin, depot, copies, peers: depots, memory, now });
  const tierBytes = disk === undefined ? config.cacheMemory : config.cacheDisk;
  const streams = new Streams({
    client,
    records,
    pointers,
    purges,
    memory,
    chunkBytes: config.chunkSize,
    aheadBytes: Math.max(
      2 * config.chunkSize,
      Math.min(MAX_AHEAD_BYTES, config.cacheMemory * AHEAD_SHARE),
    ),
    maxBytes: tierBytes * STREAM_SHARE,
    source: depotSource,
    times: (url) => policy.rule(url),
    onOriginBytes,
    onPass: (pass, end) => metrics.streams.inc({ pass, end }),
    now,
  });
  account.share('streams', () => streams.bytes);
  const chunks = new ChunkStore({
    cache,
    memory,
    disk,
    purges,
    source: streams,
    network,
    now,
    onRaced: (winner) => metrics.races.inc({ winner: winner === 0 ? 'first' : 'retry' }),
    onFetched: (hop, requests) =>
      metrics.fetches.inc({ hop: String(hop), requests: requests > 1 ? 'several' : 'one' }),
  });
  streams.keep = (chunk) => chunks.store(chunk);
  streams.peek = (request) => chunks.peek(request);
  const resolver = new FileResolver({
    client,
    clientOrigins,
    records,
    pointers,
    purges,
    chunks,
    memory,
    streams,
    network,
    chunkBytes: config.chunkSize,
    timeoutMs: config.originTimeout,
    now,
    wallClock,
    onOriginBytes,
    passesAnswers: (url) => policy.rule(url).passAnswers === true,
    times: (url) => policy.rule(url),
  });
  const inside = new InsideHandler({
    name: config.name,
    auth,
    policy,
    purges,
    resolver,
    chunks,
    streams,
    pointers,
    chunkBytes: config.chunkSize,
    depot,
    copies,
    metrics,
    log,
    load,
    wallClock,
    account,
    traces: config.traces,
  });
  return { client, clientOrigins, records, chunks, streams, resolver, inside, onOriginBytes };
}

/** Makes the parts that get requests into origins that let only this edge in. */
function keyed({ log, now, wallClock }: NodeContext, policy: OriginPolicy) {
  const access = new OriginAccess({
    keys: () => policy.keys,
    now,
    wallClock,
    onFallback: (origin, reason) => log.warn({ origin, reason }, 'the second origin is asked'),
  });
  return { access, tls: (url: URL) => policy.keys.tls(url) };
}
