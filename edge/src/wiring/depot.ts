/** The depot of a node: its folder, its owners, and the handler of its requests. */

import { mkdir, stat, statfs } from 'node:fs/promises';
import type { Log } from '@millrace/shared/base/log';
import { formatBytes } from '@millrace/shared/base/units';
import { APPENDS, CLIENT_APPENDS } from '../admission/resources.ts';
import type { Exchanges } from '../clients/exchanges.ts';
import type { Config } from '../config/config.ts';
import { DepotAdministration } from '../depot/administration.ts';
import { APPEND_BYTES } from '../depot/append.ts';
import { ClientUse } from '../depot/client-use.ts';
import { Depot } from '../depot/depot.ts';
import { lockFolder } from '../depot/folder-lock.ts';
import { READ_MEMORY_BYTES } from '../depot/verified-read.ts';
import { Owners } from '../policy/depot-owners.ts';
import { DepotHandler } from '../routes/depot/handler.ts';
import type { Clients } from './clients.ts';
import type { NodeContext } from './node-context.ts';

export interface DepotServer {
  /** Answers clients' requests. */
  readonly handler: DepotHandler;
  /** Carries out what operators ask for. */
  readonly administration: DepotAdministration;
  /** Reads the owners again. */
  reload(log: Log): void;
  /** Ends all uploads and deletions. */
  close(): Promise<void>;
}

const COLLECT_INTERVAL_MS = 1000;

/**
 * Opens the depot of a node.
 *
 * @param dir its folder
 * @throws Error if the folder or the file of owners cannot be used, another edge uses the folder, or
 *   the quota exceeds the disk
 */
export async function openDepot(
  context: NodeContext,
  dir: string,
  clients: Clients,
  transfers: Exchanges,
): Promise<DepotServer> {
  const { config, log, metrics, admissions, account, now, wallClock, rounds } = context;
  const owners = new Owners(config.depotOwnersFile);
  const { depotQuota: quotaBytes, depotMax: maxLeaseMs } = config;
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const lock = await lockFolder(dir);
  if (lock.gap !== undefined) {
    log.warn({ reason: lock.gap }, 'no other edge is kept out of the folder of the depot');
  }
  const depot = await Depot.open({ dir, quotaBytes, maxLeaseMs, owners, log, wallClock });
  await checkDisk(config, dir);
  rounds.every(COLLECT_INTERVAL_MS, () => depot.collect());
  const use = new ClientUse(admissions.refused);
  admissions.measure('depotBytes', { use: () => depot.usedBytes, limit: quotaBytes });
  admissions.measure('appends', {
    use: () => use.appends,
    limit: APPENDS,
    perClient: CLIENT_APPENDS,
  });
  account.share('depot', () => use.appends * APPEND_BYTES + use.reads * READ_MEMORY_BYTES);
  metrics.gauge('depot_allocations', 'Files in the depot, complete or not', () => depot.count);
  const handler = new DepotHandler({
    ...{ depot, owners, use, metrics, account, transfers, log, now, wallClock, maxLeaseMs },
    publicUrl: config.publicUrl,
    limits: clients.limits,
    clientAddress: clients.address,
    reaper: clients.reaper,
    onRefusal: admissions.refused,
    onBytes: (bytes) => metrics.depotReceived.inc(bytes),
  });
  return {
    handler,
    administration: new DepotAdministration(depot, log),
    reload(to) {
      try {
        owners.reload();
      } catch (error) {
        to.error({ err: error }, 'the owners of the depot stay as they were');
      }
    },
    async close() {
      await depot.close();
      await lock.release();
    },
  };
}

/** @throws Error if depot and cache together may need more than the disk has */
async function checkDisk({ depotQuota, cacheDir, cacheDisk }: Config, dir: string): Promise<void> {
  const disk = await statfs(dir);
  const bytes = disk.blocks * disk.bsize;
  const isSame = cacheDir !== undefined && (await stat(cacheDir)).dev === (await stat(dir)).dev;
  const needed = depotQuota + (isSame ? cacheDisk : 0);
  if (needed <= bytes) return;
  const what = isSame ? '--depot-quota and --cache-disk need' : '--depot-quota needs';
  throw new Error(`${what} ${formatBytes(needed)}, and the disk has ${formatBytes(bytes)}`);
}
