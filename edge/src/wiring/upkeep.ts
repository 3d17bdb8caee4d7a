/** Administrators' work on a node's storage: purges, pins, and prefetches. */

import { Administration } from '../admin/administration.ts';
import { EndedSessions } from '../admin/ended-sessions.ts';
import { PrefetchList } from '../admin/prefetch-list.ts';
import { Prefetcher } from '../admin/prefetcher.ts';
import type { Exchanges } from '../clients/exchanges.ts';
import type { OriginPolicy } from '../policy/policy.ts';
import type { Files } from './files.ts';
import type { NodeContext } from './node-context.ts';
import type { Peers } from './peers.ts';
import type { Storage } from './storage.ts';

export interface Upkeep {
  readonly prefetcher: Prefetcher;
  readonly administration: Administration;
  /** Sessions of the dashboard that were logged out. */
  readonly endedSessions: EndedSessions;
}

/**
 * Opens prefetches and the administration of the edge.
 *
 * @param transfers of clients, which come first
 */
export async function openUpkeep(
  { config, log, metrics, now, wallClock, link }: NodeContext,
  { purges, pins }: Storage,
  { commands, network }: Peers,
  { resolver, chunks }: Files,
  policy: OriginPolicy,
  transfers: Exchanges,
): Promise<Upkeep> {
  const list = config.cacheDir === undefined ? undefined : new PrefetchList(config.cacheDir, log);
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
    list,
    left: (await list?.read()) ?? [],
    check: (url) => policy.check(url, 'public'),
  });
  const { onPurge } = purges;
  purges.onPurge = (target) => {
    onPurge(target);
    metrics.contentPurges.inc({ kind: target.kind });
  };
  const endedSessions = await EndedSessions.open(config.cacheDir, log, wallClock);
  const administration = new Administration({
    purges,
    pins,
    prefetcher,
    resolver,
    endedSessions,
    link,
    peers: network === undefined ? undefined : commands,
    log,
    wallClock,
  });
  return { prefetcher, administration, endedSessions };
}
