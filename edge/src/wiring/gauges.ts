/** Figures that are read from a node's parts on request. */

import type { PeerTable } from '@millrace/shared/cdn/routing/peer-table';
import type { Administration } from '../admin/administration.ts';
import type { ClientLimits } from '../admission/client-limits.ts';
import type { DiskCache } from '../cache/disk-cache.ts';
import type { MemoryCache } from '../cache/memory-cache.ts';
import type { PointerCache } from '../cache/pointer-cache.ts';
import type { Exchanges } from '../clients/exchanges.ts';
import type { Metrics } from '../figures/metrics.ts';

export function addClientGauges(
  metrics: Metrics,
  limits: ClientLimits,
  transfers: Exchanges,
): void {
  metrics.gauge('clients_known', 'Client addresses that limits are kept for', () => limits.clients);
  metrics.gauge('transfers_active', 'Transfers under way', () => transfers.running);
}

/** Adds figures of nodes that answer; of a dead one only its line in /-/status is left. */
export function addPeerGauges(metrics: Metrics, table: PeerTable): void {
  metrics.gauges(
    'peer_rtt_seconds',
    'Round-trip time of the last heartbeat of each node that answers',
    'peer',
    function* () {
      for (const peer of table.peers) {
        const rtt = peer.rtts.at(-1);
        if (rtt !== undefined && table.isAlive(peer)) yield [peer.name, rtt / 1000];
      }
    },
    // Each process measures for itself.
    'average',
  );
}

/** Adds the gauges of the caches to the metrics. @param disk undefined without a disk tier */
export function addCacheGauges(
  metrics: Metrics,
  cache: MemoryCache,
  disk: DiskCache | undefined,
  pointers: PointerCache,
): void {
  metrics.gauge('files_known', 'Files whose version is known', () => pointers.count);
  metrics.gauge('memory_cache_bytes', 'Memory held by cached chunks', () => cache.bytes);
  metrics.gauge('memory_cache_chunks', 'Chunks in memory', () => cache.count);
  metrics.gauge(
    'memory_cache_copies',
    'Copies in memory of chunks that other nodes keep',
    () => cache.copies,
  );
  metrics.gauge(
    'memory_cache_evicted_bytes',
    'Chunk bytes that left memory for newer ones',
    () => cache.evictedBytes,
  );
  if (disk === undefined) return;
  metrics.gauge('disk_cache_bytes', 'Disk space used by cached chunks', () => disk.bytes);
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

/** Adds the state of the anycast routes, which all processes of an edge share. */
export function addAnycastGauge(metrics: Metrics, announced: () => boolean): void {
  const read = () => Number(announced());
  metrics.gauge('anycast_announced', 'Whether the anycast routes are announced', read, 'max');
}

export function addAdminGauges(metrics: Metrics, administration: Administration): void {
  type Figure = keyof ReturnType<Administration['counts']>;
  const gauge = (name: string, help: string, read: Figure, together?: 'max') =>
    metrics.gauge(name, help, () => administration.counts()[read], together);
  gauge('purges_remembered', 'Purges that cached chunks are checked against', 'purges', 'max');
  gauge('prefetches_active', 'Prefetches that run or wait', 'prefetches');
  gauge('pins', 'Files pinned', 'pins', 'max');
  gauge('pinned_bytes', 'Bytes that pins take', 'pinnedBytes');
  gauge('pin_quota_bytes', 'Bytes that pins may take', 'pinQuotaBytes');
}
