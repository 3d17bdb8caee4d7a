/** The account of memory: weights of connections, transfers and bookkeeping, and its guard. */

import type { Exchanges } from '../clients/exchanges.ts';
import { RequestWeights } from '../clients/request-weights.ts';
import { boundGarbage, collectGarbage } from '../memory/collect-garbage.ts';
import { LOOK_INTERVAL_MS, MemoryGuard } from '../memory/memory-guard.ts';
import {
  CLIENT_BYTES,
  CONNECTION_BYTES,
  TLS_CONNECTION_BYTES,
  TRANSFER_BYTES,
} from '../memory/process-weights.ts';
import { programBytes, witness } from '../memory/program.ts';
import { returnFreed } from '../memory/return-freed.ts';
import type { Clients } from './clients.ts';
import type { Files } from './files.ts';
import type { NodeContext } from './node-context.ts';
import type { Ports } from './ports.ts';
import type { Storage } from './storage.ts';

/** Idle chunk memory above which cached chunks are gathered so that it can be returned. */
const IDLE_BYTES = 32 * 1024 * 1024;
/** Most chunks moved at a time: the bytes of each are copied. */
const GATHERED_CHUNKS = 32;

/** Adds the remaining shares, shows the account, and begins to guard it. */
export function guardMemory(
  { config, account, admissions, metrics, rounds, log, now }: NodeContext,
  { cache, memory }: Storage,
  { records, inside, clientOrigins }: Files,
  { limits }: Clients,
  ports: Ports,
  transfers: Exchanges,
): void {
  const program = programBytes();
  account.share('program', () => program);
  const connectionBytes = config.tlsCert === undefined ? CONNECTION_BYTES : TLS_CONNECTION_BYTES;
  account.share('connections', () => ports.connections * connectionBytes);
  account.share('transfers', () => transfers.bytes + inside.running * TRANSFER_BYTES);
  const requests = new RequestWeights();
  requests.watch(ports.server.server);
  account.share('requests', () => requests.bytes);
  account.share('clients', () => limits.clients * CLIENT_BYTES + clientOrigins.bytes);
  account.share('origins', () => records.bytes);
  admissions.measure('memory', {
    use: () => Math.max(account.chargedBytes, account.residentBytes),
    limit: account.limitBytes,
  });
  metrics.gauges(
    'memory_share_bytes',
    'Memory charged, by share of the account',
    'share',
    () => Object.entries(account.report().shares),
    'sum',
  );
  metrics.gauge('memory_limit_bytes', 'Memory limit of the edge', () => account.limitBytes);
  metrics.gauge(
    'memory_stop_bytes',
    'Memory above which transfers are refused and slow readers are reset',
    () => account.stopBytes,
  );
  const guard = new MemoryGuard({
    account,
    witness,
    observeReaders: () => transfers.observeReaders(now()),
    forgetReaders: () => transfers.forgetReaders(),
    endTransfers: (bytes) => transfers.freeMemory(bytes),
    closeIdle: () => ports.closeIdle(),
    trim() {
      cache.trim();
      if (memory.isScattered && memory.idleBytes > IDLE_BYTES) cache.gather(GATHERED_CHUNKS);
    },
    collectGarbage: () => collectGarbage().then(returnFreed),
    boundGarbage,
    log,
    now,
  });
  rounds.every(LOOK_INTERVAL_MS, () => guard.look());
}
