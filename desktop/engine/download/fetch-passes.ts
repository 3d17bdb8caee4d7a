/**
 * Passes over the missing bytes: a scheduler that chooses them, and a transfer that gets them. A
 * download makes another pass after its disk was full, or when bytes turned out wrong.
 */

import type { ByteRange } from '@millrace/shared/base/byte-range';
import { Scheduler } from '@millrace/shared/download/scheduler/scheduler';
import { BlockTransfer } from '@millrace/shared/download/transfer/block-transfer';
import type { BlockTransferOptions } from '@millrace/shared/download/transfer/transfer-ports';
import { PartialStore } from '../partial/partial-store.ts';
import type { DownloadSource } from '../sources/download-source.ts';
import type { DownloadWay } from './download-way.ts';

export interface FetchPassOptions
  extends Pick<BlockTransferOptions<DownloadSource>, 'open' | 'known'> {
  /** Length of the file, bytes. */
  readonly length: number;
  /** True if no byte may be asked for twice. */
  readonly once?: boolean;
  /** True if one request may ask for all the rest while one connection is enough. */
  readonly isOpenEnded?: boolean;
  /** Key by which bytes are decrypted before they are stored; undefined: they are stored as they come. */
  readonly bodyKey?: Uint8Array | undefined;
}

/** A pass that has not begun: the caller adds the sources and runs the transfer. */
interface FetchPass {
  readonly scheduler: Scheduler;
  readonly transfer: BlockTransfer<DownloadSource>;
}

/** Parts of a download that each pass uses. */
type Way = Pick<DownloadWay, 'request' | 'session' | 'sources' | 'pool' | 'file'>;

export class FetchPasses {
  #pass: FetchPass | undefined;
  #preferred: number | undefined;

  /** @param preferred position from which bytes are wanted first, as in `prefer` */
  constructor(preferred: number | undefined) {
    this.#preferred = preferred;
  }

  get preferred(): number | undefined {
    return this.#preferred;
  }

  /** Scheduler of the pass under way. */
  get scheduler(): Scheduler | undefined {
    return this.#pass?.scheduler;
  }

  /** Transfer of the pass under way. */
  get transfer(): BlockTransfer<DownloadSource> | undefined {
    return this.#pass?.transfer;
  }

  /** Prepares a pass over all bytes that the partial file has not stored. */
  begin(
    { request, session, sources, pool, file }: Way,
    { length, once = false, isOpenEnded = false, bodyKey, open, known }: FetchPassOptions,
  ): FetchPass {
    const { redundancy, connections, redundantShare } = request;
    const loci = request.loci && { ...request.loci, ...(once ? { copies: 1 } : {}) };
    // Of a file that an older one has mostly, only a part is fetched.
    const fetched = request.older === undefined ? length : length - file.stored.bytes;
    const redundantBytes = once ? 0 : Math.floor(fetched * redundantShare);
    const scheduler = new Scheduler(
      { length, mode: redundancy, loci, redundantBytes, connections, isOpenEnded },
      session.now(),
    );
    for (const range of file.stored.ranges) scheduler.addStored(range);
    if (this.#preferred !== undefined) scheduler.prefer(this.#preferred);
    const store = new PartialStore(file, pool, bodyKey);
    const options = { store, scheduler, pool: sources, connections, session };
    this.#pass = { scheduler, transfer: new BlockTransfer({ ...options, open, known }) };
    return this.#pass;
  }

  /** Notes that no pass is under way. */
  end(): void {
    this.#pass = undefined;
  }

  /** Sets the position from which bytes are wanted first; undefined: the order does not matter. */
  prefer(position: number | undefined): void {
    this.#preferred = position;
    this.#pass?.scheduler.prefer(position);
    this.#pass?.transfer.kick();
  }

  /** Notes that bytes are no longer stored: they are fetched again. */
  discard(range: ByteRange): void {
    this.#pass?.scheduler.discard(range);
  }
}
