/** Writes bytes of a partial file at their final positions, each byte once. */

import type { FileHandle } from 'node:fs/promises';
import type { ByteRange } from '@millrace/shared/base/byte-range';
import { writeAll } from '../files/file-steps.ts';
import type { FileWatch } from '../files/file-watch.ts';
import type { DataFlush } from './data-flush.ts';
import type { StoredBytes } from './stored-bytes.ts';
import { Writes } from './writes.ts';

export interface DataWriterOptions {
  readonly data: FileHandle;
  readonly watch: FileWatch;
  readonly stored: StoredBytes;
  readonly flush: DataFlush;
}

export class DataWriter {
  readonly #options: DataWriterOptions;
  readonly #writes = new Writes();

  constructor(options: DataWriterOptions) {
    this.#options = options;
  }

  /** True while a write is under way. */
  get isBusy(): boolean {
    return this.#writes.isBusy;
  }

  /** Resolves when all writes under way have ended, successfully or not. */
  settled(): Promise<void> {
    return this.#writes.settled();
  }

  /**
   * Writes those bytes that are not stored yet, and has them flushed before long.
   *
   * @param bytes must not change until this resolves
   * @param provisional true for bytes that may be wrong: the journal gets no digest of them
   * @returns false if all of them were stored already
   * @throws the failure of the last flush; errors of the disk
   */
  async write(position: number, bytes: Buffer, provisional: boolean): Promise<boolean> {
    const { stored, flush } = this.#options;
    const range = { start: position, end: position + bytes.length };
    for (;;) {
      if (flush.failure !== undefined) throw flush.failure;
      const other = this.#writes.touching(range);
      if (other === undefined) break;
      await other;
    }
    const missing = stored.ranges.missing(range);
    if (missing.length === 0) return false;
    await this.#writes.run(range, this.#write(missing, position, bytes, provisional));
    flush.soon();
    return true;
  }

  async #write(
    missing: readonly ByteRange[],
    position: number,
    bytes: Buffer,
    provisional: boolean,
  ): Promise<void> {
    const { data, watch, stored, flush } = this.#options;
    await watch.beforeWrite();
    for (const gap of missing) {
      for (const range of stored.cut(gap)) {
        const part = bytes.subarray(range.start - position, range.end - position);
        const write = writeAll(data, part, range.start);
        // The digest is computed while the system writes.
        const digests = provisional ? undefined : stored.digests(range, part);
        await write;
        stored.add(range, digests);
        if (stored.journal !== undefined) flush.written(range);
      }
    }
  }
}
