/** One pass over the missing bytes: a scheduler that chooses them, and a transfer that gets them. */

import { Scheduler } from '@millrace/shared/download/scheduler/scheduler';
import { BlockTransfer } from '@millrace/shared/download/transfer/block-transfer';
import type { BlockTransferOptions } from '@millrace/shared/download/transfer/transfer-ports';
import { PartialStore } from '../partial/partial-store.ts';
import type { HttpSource } from '../sources/http-source.ts';
import type { DownloadWay } from './download-way.ts';

export interface FetchPassOptions extends Pick<BlockTransferOptions<HttpSource>, 'open' | 'known'> {
  /** Length of the file, bytes. */
  readonly length: number;
  /** True if no byte may be asked for twice. */
  readonly once?: boolean;
  /** True if one request may ask for all the rest while one connection is enough. */
  readonly isOpenEnded?: boolean;
  /** Position from which bytes are wanted first; undefined: the order does not matter. */
  readonly preferred: number | undefined;
}

/** A pass that has not begun: the caller adds the sources and runs the transfer. */
export interface FetchPass {
  readonly scheduler: Scheduler;
  readonly transfer: BlockTransfer<HttpSource>;
}

/** Prepares a pass over all bytes that the partial file has not stored. */
export function fetchPass(
  {
    request,
    session,
    sources,
    pool,
    file,
  }: Pick<DownloadWay, 'request' | 'session' | 'sources' | 'pool' | 'file'>,
  { length, once = false, isOpenEnded = false, preferred, open, known }: FetchPassOptions,
): FetchPass {
  const { redundancy, connections, redundantShare } = request;
  const redundantBytes = once ? 0 : Math.floor(length * redundantShare);
  const scheduler = new Scheduler(
    { length, mode: redundancy, redundantBytes, connections, isOpenEnded },
    session.now(),
  );
  for (const range of file.stored.ranges) scheduler.addStored(range);
  if (preferred !== undefined) scheduler.prefer(preferred);
  const store = new PartialStore(file, pool);
  const options = { store, scheduler, pool: sources, connections, session };
  return { scheduler, transfer: new BlockTransfer({ ...options, open, known }) };
}
