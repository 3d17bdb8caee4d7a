/**
 * From the bytes of a response to the partial file: collects them into segments, so that writing,
 * hashing and journaling cost little per byte, and holds the source back when the disk is slower.
 */

import type { PartialFile } from './partial-file.ts';

export const SEGMENT_BYTES = 1024 * 1024;
/** Bytes are not kept from the disk for longer than this: a crash loses what is in memory. */
const COLLECT_MS = 500;
/** Bytes on their way to the disk at a time, over all connections of a download. */
const MAX_WRITING_BYTES = 4 * 1024 * 1024;

/** Memory and progress of writing, shared by the connections of one download. */
export class SegmentPool {
  readonly #free: Buffer[] = [];
  #writingBytes = 0;
  readonly #waiting: (() => void)[] = [];

  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(SEGMENT_BYTES);
  }

  giveBack(buffer: Buffer): void {
    this.#free.push(buffer);
  }

  /** Counts bytes that are being written, negative ones when they are done. */
  writing(bytes: number): void {
    this.#writingBytes += bytes;
    if (this.#writingBytes <= MAX_WRITING_BYTES) for (const go of this.#waiting.splice(0)) go();
  }

  /** Undefined while there is room for more, else a promise to wait for. */
  room(): Promise<void> | undefined {
    if (this.#writingBytes <= MAX_WRITING_BYTES) return undefined;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}

export class SegmentWriter {
  readonly #file: PartialFile;
  readonly #pool: SegmentPool;
  #buffer: Buffer | undefined;
  #start = 0;
  #filled = 0;
  #capacity = 0;
  readonly #writes = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #failure: unknown;

  constructor(file: PartialFile, pool: SegmentPool) {
    this.#file = file;
    this.#pool = pool;
  }

  /**
   * Takes bytes at a position, in any order; they are copied.
   *
   * @returns a promise to wait for before taking more, where the disk is behind
   * @throws what writing has failed with
   */
  write(position: number, bytes: Uint8Array): Promise<void> | undefined {
    if (this.#failure !== undefined) throw this.#failure;
    let at = 0;
    if (this.#buffer !== undefined && position !== this.#start + this.#filled) this.#store();
    while (at < bytes.length) {
      if (this.#buffer === undefined) {
        this.#buffer = this.#pool.take();
        this.#start = position + at;
        this.#filled = 0;
        // Segments end at multiples of their size, so that neighbours do not leave slivers.
        this.#capacity = SEGMENT_BYTES - (this.#start % SEGMENT_BYTES);
        this.#timer = setTimeout(() => this.#store(), COLLECT_MS);
      }
      const take = Math.min(bytes.length - at, this.#capacity - this.#filled);
      this.#buffer.set(bytes.subarray(at, at + take), this.#filled);
      this.#filled += take;
      at += take;
      if (this.#filled === this.#capacity) this.#store();
    }
    return this.#pool.room();
  }

  /** Writes what is left and waits for all of it. @throws what writing has failed with */
  async end(): Promise<void> {
    if (this.#buffer !== undefined) this.#store();
    await Promise.all(this.#writes);
    if (this.#failure !== undefined) throw this.#failure;
  }

  #store(): void {
    const buffer = this.#buffer as Buffer;
    const bytes = this.#filled;
    this.#buffer = undefined;
    clearTimeout(this.#timer);
    this.#pool.writing(bytes);
    const write = this.#file
      .store(this.#start, buffer.subarray(0, bytes))
      .catch((error: unknown) => {
        this.#failure ??= error;
      })
      .then(() => {
        this.#pool.giveBack(buffer);
        this.#pool.writing(-bytes);
        this.#writes.delete(write);
      });
    this.#writes.add(write);
  }
}
