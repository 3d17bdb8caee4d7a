/** Segment buffers for a download, and bounds on the bytes that are collected or being written. */

import { CollectedBytes } from '@millrace/shared/download/journal/collected-bytes';

/** Longest segment, the unit of writing, hashing and journaling, in bytes. */
export const SEGMENT_BYTES = 512 * 1024;
/** Bytes that all connections of a download may have on their way to the disk. */
const MAX_WRITING_BYTES = 4 * 1024 * 1024;

/** A connection that collects bytes. */
export interface Collecting {
  /** Begins to write the bytes collected so far. */
  store(): void;
}

/** Memory and progress of writing, shared by the connections of one download. */
export class SegmentPool {
  readonly #now: () => number;
  readonly #free: Buffer[] = [];
  #writingBytes = 0;
  readonly #waiting: (() => void)[] = [];
  readonly #collected = new CollectedBytes<Collecting>();

  /** @param now monotonic milliseconds */
  constructor(now = () => performance.now()) {
    this.#now = now;
  }

  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(SEGMENT_BYTES);
  }

  giveBack(buffer: Buffer): void {
    this.#free.push(buffer);
  }

  /** Counts collected bytes, and has the largest collections written if there are too many. */
  collected(by: Collecting, bytes: number): void {
    for (const writer of this.#collected.add(by, bytes, this.#now())) writer.store();
  }

  /** Notes that a connection writes all its collected bytes. */
  storing(by: Collecting): void {
    this.#collected.take(by);
  }

  /** Counts bytes whose write begins; a negative number when it ends. */
  writing(bytes: number): void {
    this.#writingBytes += bytes;
    if (this.#writingBytes <= MAX_WRITING_BYTES) for (const go of this.#waiting.splice(0)) go();
  }

  /**
   * Returns undefined while there is room for more, otherwise a promise that resolves when there
   * is.
   */
  room(): Promise<void> | undefined {
    if (this.#writingBytes <= MAX_WRITING_BYTES) return undefined;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}
