/** Runs one download, from its opened file to the last byte. */

import type { Millis } from '@millrace/shared/base/clock';
import type { Digest } from '@millrace/shared/base/digest';
import { MillraceError } from '@millrace/shared/base/errors';
import { RateMeter } from '@millrace/shared/download/figures/rate-meter';
import { Scheduler } from '@millrace/shared/download/scheduler/scheduler';
import { BlockTransfer } from '@millrace/shared/download/transfer/block-transfer';
import { SourcePool } from '@millrace/shared/download/transfer/source-pool';
import type { PinnedVersion } from '@millrace/shared/http/answers/range-contract';
import type { LiveFigures } from '../records/shown.ts';
import type { FetchSource } from '../sources/fetch-source.ts';
import type { HostSlots, SlotHolder } from '../sources/host-slots.ts';
import { SlotSeats } from '../sources/slot-seats.ts';
import { checkFile } from '../storage/file-digest.ts';
import type { Partial } from '../storage/opfs-store.ts';
import { PartialStore } from '../storage/partial-store.ts';

/** Most requests of a download at a time. */
const CONNECTIONS = 6;
/** Largest share of the file's bytes that may be fetched twice. */
const REDUNDANT_SHARE = 0.02;
/** Time without bytes after which a download no longer delays the start of others, ms. */
const QUIET_MS = 10_000;
/** Longest silence of a source, before its answer and within it, ms. */
const SILENT_MS = 20_000;

export interface FetchOptions {
  readonly partial: Partial;
  /** Edges first, then the origin. */
  readonly sources: readonly FetchSource[];
  /** Edges that join as soon as they are admitted. */
  readonly joining: readonly FetchSource[];
  /** Checks a source that wants to join; rejects if it must not be used. */
  readonly admit: (source: FetchSource, signal: AbortSignal) => Promise<void>;
  readonly slots: HostSlots;
  readonly version: PinnedVersion;
  /** Expected digests of the whole file. */
  readonly digests: readonly Digest[];
  /** Whether bytes may be requested twice; false if the server may count requests. */
  readonly mayRepeat: boolean;
  readonly wait: (ms: Millis, signal: AbortSignal) => Promise<void>;
  readonly signal: AbortSignal;
}

export class Run {
  /** Resolves when all work has ended. */
  readonly ended: Promise<void>;
  readonly #stop = new AbortController();
  readonly #now: () => Millis;
  readonly #meter: RateMeter;
  #partial: Partial | undefined;
  #scheduler: Scheduler | undefined;
  #transfer: BlockTransfer<FetchSource> | undefined;
  #opened = false;
  #moved = false;
  #movedAt: Millis;

  /** @param work does all the work; it must not reject */
  constructor(work: (signal: AbortSignal, run: Run) => Promise<void>, now: () => Millis) {
    this.#now = now;
    this.#meter = new RateMeter(now());
    this.#movedAt = now();
    this.ended = Promise.resolve().then(() => work(this.#stop.signal, this));
  }

  /** Whether the number of stored bytes is known. */
  get opened(): boolean {
    return this.#opened;
  }

  /** Whether no bytes arrive at the moment, so that others may run in its place. */
  get idle(): boolean {
    return this.#now() - this.#movedAt > QUIET_MS || this.#transfer?.idle === true;
  }

  figures(): LiveFigures {
    return {
      storedBytes: this.#scheduler?.storedBytes ?? 0,
      bytesPerSecond: this.#meter.bytesPerSecond(this.#now()),
      waiting: this.#transfer?.idle ?? false,
    };
  }

  /**
   * Fetches the missing bytes, and checks the whole file. However it ends, received bytes are on
   * disk and in the journal.
   */
  async fetch(options: FetchOptions): Promise<void> {
    const { partial, sources, version, mayRepeat, digests, wait, signal } = options;
    this.#partial = partial;
    try {
      const scheduler = new Scheduler(
        {
          length: version.length,
          mode: 'progress',
          redundantBytes: mayRepeat ? version.length * REDUNDANT_SHARE : 0,
          connections: CONNECTIONS,
        },
        this.#now(),
      );
      for (const range of partial.stored.ranges) scheduler.addStored(range);
      for (const { id, holds, kind } of sources) {
        scheduler.addSource(id, { holds, hasPeers: kind === 'edge' });
      }
      this.#scheduler = scheduler;
      this.#opened = true;
      const holder: SlotHolder = {
        giveBack: (host, count) => transfer.giveBack(host, count),
        onRoom: () => transfer.kick(),
      };
      const seats = new SlotSeats({
        slots: options.slots,
        holder,
        connections: CONNECTIONS,
        missingBytes: () => version.length - scheduler.storedBytes,
      });
      const pool = new SourcePool<FetchSource>(seats, this.#now);
      for (const source of sources) pool.add(source);
      const transfer = new BlockTransfer<FetchSource>({
        store: new PartialStore(partial),
        scheduler,
        pool,
        open: (source, range, ended) => source.open(range, version, ended),
        connections: CONNECTIONS,
        session: { signal, now: this.#now, wait, onBytes: this.#onBytes },
      });
      this.#transfer = transfer;
      const over = new AbortController();
      const join = (source: FetchSource) => {
        scheduler.addSource(source.id, { holds: source.holds, hasPeers: source.kind === 'edge' });
        pool.add(source);
        transfer.kick();
      };
      this.#join(join, options, AbortSignal.any([signal, over.signal]));
      try {
        await transfer.run();
      } finally {
        over.abort();
        seats.leave();
      }
      await partial.flush();
      const { length } = version;
      const read = partial.read.bind(partial);
      await checkFile({ length, read, digests }, () => wait(0, signal), signal);
    } catch (error) {
      await partial.flush().catch(() => {});
      throw error;
    } finally {
      this.#partial = undefined;
      partial.close();
    }
  }

  #join(join: (source: FetchSource) => void, options: FetchOptions, signal: AbortSignal): void {
    for (const source of options.joining) {
      options.admit(source, signal).then(
        () => {
          if (!signal.aborted) join(source);
        },
        // Other sources have the file; this edge is asked again when the download is started again.
        () => {},
      );
    }
  }

  /** Ends silent requests. @returns true if bytes have arrived since the last call */
  tick(): boolean {
    this.#transfer?.endSilent(SILENT_MS);
    const moved = this.#moved;
    this.#moved = false;
    return moved;
  }

  retryNow(): void {
    this.#transfer?.retryNow();
  }

  async flush(): Promise<void> {
    // If this fails, the transfer will fail too.
    await this.#partial?.flush().catch(() => {});
  }

  readonly #onBytes = (_source: FetchSource, count: number): undefined => {
    this.#meter.add(count);
    this.#moved = true;
    this.#movedAt = this.#now();
  };

  stop(): void {
    this.#stop.abort(new MillraceError('interrupted'));
  }
}
