/**
 * Brings written bytes of a partial file durably to the disk at intervals, and records this in the
 * journal. The next flush repeats a failed one; until one succeeds nothing can be stored.
 */

import type { FileHandle } from 'node:fs/promises';
import type { ByteRange } from '@millrace/shared/base/byte-range';
import type { MillraceError } from '@millrace/shared/base/errors';
import { fileError } from '../files/file-error.ts';
import type { FileWatch } from '../files/file-watch.ts';
import type { StoredBytes } from './stored-bytes.ts';

/**
 * Time, in milliseconds, and number of written bytes after which a flush is due. Together with the
 * time for which `SegmentWriter` collects bytes, a crash of the machine costs the bytes of about
 * one second.
 */
const FLUSH_EVERY_MS = 500;
const FLUSH_EVERY_BYTES = 64 * 1024 * 1024;

export interface DataFlushOptions {
  /** Path of the complete file, for errors. */
  readonly path: string;
  readonly data: FileHandle;
  readonly watch: FileWatch;
  readonly stored: StoredBytes;
  /** Returns true while a write is under way. */
  readonly isWriting: () => boolean;
}

export class DataFlush {
  readonly #options: DataFlushOptions;
  /** Ranges that are written but not yet flushed. */
  #unflushed: ByteRange[] = [];
  #unflushedBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #flushes: Promise<void> = Promise.resolve();
  #failure: MillraceError | undefined;

  constructor(options: DataFlushOptions) {
    this.#options = options;
  }

  /** Why nothing can be stored now; undefined: storing works. */
  get failure(): MillraceError | undefined {
    return this.#failure;
  }

  /** Notes that a journal line could not be written. The next flush writes it. */
  failed(error: unknown): void {
    this.#failure ??= fileError(error, this.#options.path);
  }

  /** Notes that bytes have been written. The journal records them once they are on disk. */
  written(range: ByteRange): void {
    this.#unflushed.push(range);
    this.#unflushedBytes += range.end - range.start;
  }

  /** Flushes at once if enough bytes are waiting, otherwise before long. */
  soon(): void {
    if (this.#unflushedBytes >= FLUSH_EVERY_BYTES) void this.flush().catch(() => {});
    else this.#timer ??= setTimeout(() => void this.flush().catch(() => {}), FLUSH_EVERY_MS);
  }

  /**
   * Flushes all bytes written so far.
   *
   * @throws MillraceError `disk-full`, `file-not-writable`: the next flush tries again;
   *   `file-changed`: every later flush fails with it too
   */
  flush(): Promise<void> {
    this.stop();
    // Flushes run beside other tasks: journal lines for new bytes do not wait for old bytes.
    const flush = this.#flushes.then(() => this.#flushOnce());
    this.#flushes = flush.catch(() => {});
    return flush;
  }

  /** Forgets unflushed writes. */
  clear(): void {
    this.#unflushed = [];
    this.#unflushedBytes = 0;
  }

  /** Cancels the scheduled flush. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  async #flushOnce(): Promise<void> {
    const { path, watch, stored, isWriting } = this.#options;
    const { journal } = stored;
    if (journal === undefined) return;
    const ranges = this.#unflushed;
    if (ranges.length === 0 && !journal.behind && this.#failure === undefined) return;
    this.clear();
    try {
      await watch.check();
      const { mark } = journal;
      await this.#syncData(ranges);
      await stored.flushed(mark);
      this.#failure = undefined;
      if (!isWriting() && this.#unflushed.length === 0) await watch.afterWrites();
    } catch (error) {
      this.#unflushed = [...ranges, ...this.#unflushed];
      this.#failure = fileError(error, path);
      throw this.#failure;
    }
  }

  /**
   * Flushes the data file.
   *
   * @param ranges bytes written since the last flush; emptied if the flush fails, because they may
   *   be lost
   */
  async #syncData(ranges: ByteRange[]): Promise<void> {
    const { data, watch, stored } = this.#options;
    try {
      await data.datasync();
    } catch (error) {
      // The system gave up: it may have dropped the bytes, and reports that only once.
      const lost = ranges.splice(0);
      watch.edited = true;
      await stored.forget(lost);
      throw error;
    }
  }
}
