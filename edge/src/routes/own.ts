/** The edge's own endpoints under /-/ that are open to everybody. */

import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import type { MemoryAccount } from '@millrace/shared/cdn/admission/memory-account';
import { edgesWithRoom, readDepotNeed } from '@millrace/shared/cdn/depot/depot-room';
import { SharedAnswer } from '@millrace/shared/cdn/figures/shared-answer';
import type { FastifyInstance } from 'fastify';
import type { Administration } from '../admin/administration.ts';
import type { Admissions } from '../admission/admissions.ts';
import type { AnycastState } from '../anycast/announcer.ts';
import type { DiskCache } from '../cache/disk-cache.ts';
import type { MemoryCache } from '../cache/memory-cache.ts';
import type { PointerCache } from '../cache/pointer-cache.ts';
import type { Exchanges } from '../clients/exchanges.ts';
import type { Config } from '../config/config.ts';
import { counterValue, counterValues, fetchesByHop, type Metrics } from '../figures/metrics.ts';
import {
  CONTENT_TYPES,
  type MetricsFormat,
  metricsText,
  preferredFormat,
} from '../figures/metrics-text.ts';
import { certificateOrders } from '../listen/acme/acme-folder.ts';
import type { Membership } from '../peers/membership.ts';
import { WORKER_PART_OF_AGE } from '../workers/messages.ts';
import type { WorkerLink } from '../workers/worker-link.ts';
import { sendProblem } from './admin.ts';

export interface OwnRoutesOptions {
  readonly config: Config;
  readonly metrics: Metrics;
  readonly admissions: Admissions;
  readonly account: MemoryAccount;
  readonly cache: MemoryCache;
  readonly disk: DiskCache | undefined;
  readonly pointers: PointerCache;
  readonly transfers: Exchanges;
  readonly membership: Membership;
  /** Forecasts how fast a node sends, bytes per second. */
  readonly speedOf: (name: string) => number | undefined;
  readonly administration: Administration;
  /** DNS server of this process; undefined without a zone. */
  readonly zone: { describe(): Promise<Record<string, unknown>> } | undefined;
  /** Gives the state of the edge's anycast routes; undefined without any. */
  readonly anycast: () => AnycastState | undefined;
  /** Unix milliseconds. */
  readonly startedAt: number;
  /** Set if this is one of several processes: each answers for all of them. */
  readonly link: WorkerLink | undefined;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
}

const JSON_TYPE = 'application/json; charset=utf-8';
const TIERS = ['memory', 'disk', 'peer', 'source'] as const;

export async function ownRoutes(server: FastifyInstance, o: OwnRoutesOptions): Promise<void> {
  server.addHook('onSend', async (_request, reply) => {
    reply.header('cache-control', 'no-store').header('x-content-type-options', 'nosniff');
  });

  const { config, metrics, membership, link } = o;
  const age = link === undefined ? config.statusAge : config.statusAge * WORKER_PART_OF_AGE;
  const shared = (make: () => Promise<string>) => new SharedAnswer(make, age, o.now);
  const figures = (format: MetricsFormat) =>
    shared(async () => {
      if (link !== undefined) return link.collect(format);
      metrics.reports.inc({ what: 'metrics' });
      return metricsText([await metrics.collect()], format);
    });
  const figuresIn = { metrics: figures('metrics'), openMetrics: figures('openMetrics') };
  const statusText = shared(async () => {
    if (link !== undefined) return link.collect('status');
    metrics.reports.inc({ what: 'status' });
    return JSON.stringify(await ownStatus(o));
  });
  const listed = new SharedAnswer(async () => membership.publicEdges(), age, o.now);
  type Edges = Awaited<ReturnType<typeof listed.get>>;
  const edgesText = (edges: Edges) =>
    JSON.stringify({ chunkBytes: config.chunkSize, routing: 'hrw-1', edges });
  const allText = shared(async () => edgesText(await listed.get()));

  server.get('/-/live', () => ({ live: true, server: 'millrace-edge' }));
  server.get('/-/ready', (_request, reply) => {
    const ready = o.transfers.takesClients;
    return reply.code(ready ? 200 : 503).send({ ready, server: 'millrace-edge' });
  });
  server.get('/-/metrics', async (request, reply) => {
    const format = preferredFormat(request.headers.accept);
    reply.type(CONTENT_TYPES[format]).header('vary', 'accept');
    return reply.send(await figuresIn[format].get());
  });
  server.get('/-/status', async (_request, reply) =>
    reply.type(JSON_TYPE).send(await statusText.get()),
  );
  server.get('/-/edges', async (request, reply) => {
    // Pages and extensions of any site may read it: it says only what edges tell everybody. An edge
    // of one user lets no site read it.
    if (o.config.localTokenFile === undefined) reply.header('access-control-allow-origin', '*');
    const query = new URLSearchParams(request.raw.url?.split('?', 2)[1] ?? '');
    try {
      const { room, near } = readDepotNeed(query);
      if (near !== undefined && near !== config.name) {
        query.delete('near');
        return reply.redirect(listAt(await listed.get(), near, query), 307);
      }
      if (room === undefined) return reply.type(JSON_TYPE).send(await allText.get());
      const edges = edgesWithRoom(await listed.get(), room, o.speedOf);
      return reply.type(JSON_TYPE).send(edgesText(edges));
    } catch (error) {
      return sendProblem(reply, asMillraceError(error));
    }
  });
}

/**
 * Returns the address of another edge's own list.
 *
 * @param query what is asked of that list
 * @throws MillraceError `bad-request` if no edge that clients can reach has the name
 */
function listAt(
  edges: ReturnType<Membership['publicEdges']>,
  name: string,
  query: URLSearchParams,
): string {
  const url = edges.find((edge) => edge.name === name && edge.healthy)?.url;
  if (url === undefined) {
    throw new MillraceError('bad-request', 'near names no edge that this one can send clients to');
  }
  const list = new URL('/-/edges', url);
  list.search = query.toString();
  return list.href;
}

/** Collects the status of this process. */
export async function ownStatus(o: OwnRoutesOptions) {
  const { config, metrics, cache, disk, pointers, transfers, membership, startedAt } = o;
  const chunks: Record<string, number> = {};
  for (const tier of TIERS) chunks[tier] = await counterValue(metrics.chunks, { tier });
  return {
    server: 'millrace-edge',
    name: config.name,
    uptimeSeconds: Math.floor((Date.now() - startedAt) / 1000),
    draining: transfers.draining,
    takesClients: transfers.takesClients,
    load: membership.self.load,
    room: membership.room,
    chunkBytes: config.chunkSize,
    transfers: { active: transfers.running, requests: await counterValue(metrics.requests) },
    bytes: {
      toClients: await counterValue(metrics.clientBytes),
      fromOrigins: await counterValue(metrics.originBytes),
      fromPeers: await counterValue(metrics.peerBytes),
    },
    chunks: {
      ...chunks,
      joined: await counterValue(metrics.joins),
      retried: await counterValue(metrics.retries),
      requestedAgain: await counterValue(metrics.retriedChunks),
    },
    cache: {
      files: pointers.count,
      memory: {
        bytes: cache.bytes,
        maxBytes: config.cacheMemory,
        chunks: cache.count,
        copies: cache.copies,
      },
      disk:
        disk === undefined
          ? null
          : { bytes: disk.bytes, maxBytes: config.cacheDisk, records: disk.count, ...disk.stats },
    },
    window: { meanChunks: await metrics.meanWindow(), sizes: await metrics.windowSizes() },
    races: {
      first: await counterValue(metrics.races, { winner: 'first' }),
      retry: await counterValue(metrics.races, { winner: 'retry' }),
    },
    clients: {
      purged: await counterValue(metrics.reaped),
      offloaded: await counterValue(metrics.offloads),
      slowReset: await counterValue(metrics.slowReset),
    },
    errors: await counterValues(metrics.errors, 'code'),
    admission: o.admissions.status(),
    memory: o.account.report(),
    forwards: {
      first: await counterValue(metrics.forwards, { hop: '1' }),
      all: await counterValue(metrics.forwards),
      byHop: await counterValues(metrics.forwards, 'hop'),
      failed: await counterValue(metrics.peerFailures),
      versions: await counterValue(metrics.versionForwards),
    },
    fetches: await fetchesByHop(metrics.fetches),
    inside: {
      requests: await counterValue(metrics.insideRequests),
      refused: await counterValue(metrics.insideRequests, { status: '403' }),
    },
    administration: o.administration.counts(),
    peers: membership.describe(),
    // Left out where there is none: of several processes one has it.
    ...(o.zone === undefined ? {} : { dns: await o.zone.describe() }),
    ...describeOrders(config),
    ...(o.anycast() === undefined ? {} : { anycast: o.anycast() }),
    process: {
      residentBytes: process.memoryUsage.rss(),
      cpuSeconds: (process.cpuUsage().user + process.cpuUsage().system) / 1e6,
    },
  };
}

/** Describes the orders of the edge's certificate; nothing for an edge that orders none. */
function describeOrders(config: Config) {
  const state = certificateOrders(config)?.folder.state();
  if (state === undefined) return {};
  const { failed, reason, nextAt } = state;
  const next = nextAt === undefined ? {} : { next: new Date(nextAt).toISOString() };
  const why = reason === undefined ? {} : { reason };
  return { certificate: { name: config.acmeName, orderFailures: failed.count, ...why, ...next } };
}
