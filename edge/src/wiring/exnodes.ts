/** Copies of exNodes: those that this node keeps for other depots, and those of its own depot elsewhere. */

import { ExnodeKeeper } from '../keeping/exnode-keeper.ts';
import { ExnodePublisher } from '../keeping/exnode-publisher.ts';
import { KeptExnodes } from '../keeping/kept-exnodes.ts';
import type { DepotStore } from './depot.ts';
import type { NodeContext } from './node-context.ts';
import type { Peers } from './peers.ts';
import type { Storage } from './storage.ts';

const INTERVAL_MS = 1000;

/**
 * Opens the copies of a node with a depot in a network; a node of no network, or without a depot, has none.
 *
 * @param store its depot
 * @throws Error if the folder of the copies cannot be used
 */
export async function openExnodes(
  { config, log, metrics, account, rounds, now, wallClock }: NodeContext,
  store: DepotStore | undefined,
  { purges }: Storage,
  { depots, settled }: Peers,
): Promise<ExnodeKeeper | undefined> {
  const { depotDir: dir, depotQuota: quotaBytes, chunkSize: chunkBytes } = config;
  if (store === undefined || depots === undefined || dir === undefined) return undefined;
  const { depot } = store;
  const kept = await KeptExnodes.open({ dir, quotaBytes, log });
  const keeper = new ExnodeKeeper({
    ...{ kept, depots, purges, settled, chunkBytes, log, wallClock },
    isBlocked: (sha256) => depot.blocked.has(sha256),
  });
  depots.copies = keeper;
  const { onPurge } = purges;
  purges.onPurge = (target) => {
    onPurge(target);
    keeper.onPurge(target);
  };
  const publisher = new ExnodePublisher({ depot, depots, log, now });
  depot.onStored = (allocation) => publisher.publish(allocation);
  rounds.every(INTERVAL_MS, () => {
    keeper.collect();
    publisher.beat();
  });
  account.share('keptExnodes', () => keeper.bytes);
  metrics.gauge(
    'depot_kept_exnodes',
    'ExNodes of other depots that are kept here',
    () => kept.count,
  );
  return keeper;
}
