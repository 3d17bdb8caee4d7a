/**
 * Brings the bytes written to a partial file durably to the disk at intervals, and records that in
 * the journal. A failed flush is repeated the next time; until one succeeds nothing can be stored.
 */

import type { FileHandle } from 'node:fs/promises';
import type { ByteRange } from '@millrace/shared/base/byte-range';
import type { MillraceError } from '@millrace/shared/base/errors';
import { fileError } from '../files/file-error.ts';
import type { FileWatch } from '../files/file-watch.ts';
import type { StoredBytes } from './stored-bytes.ts';

/**
 * Written bytes are flushed after this time or number: with the time for which they are collected
 * before (`SegmentWriter`), the end of the machine costs at most a second.
 */
const FLUSH_EVERY_MS = 500;
const FLUSH_EVERY_BYTES = 64 * 1024 * 1024;

export interface DataFlushOptions {
  /** Of the complete file, for errors. */
  readonly path: string;
  readonly data: FileHandle;
  readonly watch: FileWatch;
  readonly stored: StoredBytes;
  /** True while something is being written. */
  readonly isWriting: () => boolean;
}

export class DataFlush {
  readonly #options: DataFlushOptions;
  /** Written, but not yet flushed. */
  #unflushed: ByteRange[] = [];
  #unflushedBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #flushes: Promise<void> = Promise.resolve();
  #failure: MillraceError | undefined;

  constructor(options: DataFlushOptions) {
    this.#options = options;
  }

  /** Why nothing can be stored now; undefined: it can. */
  get failure(): MillraceError | undefined {
    return this.#failure;
  }

  /** Something could not be written down: that is made up for with the next flush. */
  failed(error: unknown): void {
    this.#failure ??= fileError(error, this.#options.path);
  }

  /** Bytes have been written, and the journal is to say so once they are on disk. */
  written(range: ByteRange): void {
    this.#unflushed.push(range);
    this.#unflushedBytes += range.end - range.start;
  }

  /** Flushes now, where that is worth it, or before long. */
  soon(): void {
    if (this.#unflushedBytes >= FLUSH_EVERY_BYTES) void this.flush().catch(() => {});
    else this.#timer ??= setTimeout(() => void this.flush().catch(() => {}), FLUSH_EVERY_MS);
  }

  /**
   * Flushes all bytes written so far.
   *
   * @throws MillraceError `disk-full`, `file-not-writable`: the next flush tries again;
   *   `file-changed`, and every later one with it
   */
  flush(): Promise<void> {
    this.stop();
    // Beside the other tasks: lines for new bytes do not wait until old ones are on disk.
    const flush = this.#flushes.then(() => this.#flushOnce());
    this.#flushes = flush.catch(() => {});
    return flush;
  }

  /** Forgets unflushed writes. */
  clear(): void {
    this.#unflushed = [];
    this.#unflushedBytes = 0;
  }

  /** Flushes no more by itself. */
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

  /** @param ranges bytes written since the last time */
  async #syncData(ranges: ByteRange[]): Promise<void> {
    const { data, watch, stored } = this.#options;
    try {
      await data.datasync();
    } catch (error) {
      // The system has tried and given up: it may have dropped the bytes, and says so only once.
      const lost = ranges.splice(0);
      watch.edited = true;
      await stored.forget(lost);
      throw error;
    }
  }
}
