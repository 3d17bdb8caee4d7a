/**
 * From the bytes of a response to the partial file: collects them into segments, so that writing,
 * hashing and journaling cost little per byte, and holds the source back when the disk is slower.
 */

import type { PartialFile } from './partial-file.ts';
import { SEGMENT_BYTES, type SegmentPool } from './segment-pool.ts';

/** Longest time for which bytes stay in memory: a crash loses them. */
const COLLECT_MS = 500;

export class SegmentWriter {
  readonly #file: PartialFile;
  readonly #pool: SegmentPool;
  readonly #provisional: boolean;
  #segment: Segment | undefined;
  /** Position of the next bytes, if they follow the earlier ones. */
  #next: number;
  readonly #writes = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #failure: unknown;

  /**
   * @param start position that the first bytes are expected at
   * @param provisional written bytes count for this run only, until the file is told that they are
   *   right (`PartialFile.confirm`)
   */
  constructor(file: PartialFile, pool: SegmentPool, start = 0, provisional = false) {
    this.#file = file;
    this.#pool = pool;
    this.#next = start;
    this.#provisional = provisional;
  }

  /**
   * Memory for the next bytes: those read into its beginning need not be copied when `write` is
   * called with it. Valid until the next call of `room` or `end`, or until a `write` of other
   * bytes.
   *
   * @param end no bytes from this position on are wanted, unless the next ones are already beyond
   *   it
   */
  room(end = Number.POSITIVE_INFINITY): Buffer {
    const { memory, filled, capacity } = this.#current();
    const most = end > this.#next ? end - this.#next : Number.POSITIVE_INFINITY;
    return memory.subarray(filled, Math.min(capacity, filled + most));
  }

  /**
   * Takes bytes at a position, in any order; they are copied, unless they are where `room` said.
   *
   * @returns a promise to wait for before taking more, where the disk is behind
   * @throws the error of a failed write
   */
  write(position: number, bytes: Uint8Array): Promise<void> | undefined {
    if (this.#failure !== undefined) throw this.#failure;
    if (position !== this.#next) {
      this.#retire();
      this.#next = position;
    }
    for (let at = 0; at < bytes.length; ) {
      const segment = this.#current();
      const { memory, filled, capacity } = segment;
      const take = Math.min(bytes.length - at, capacity - filled);
      const there =
        bytes.buffer === memory.buffer && bytes.byteOffset + at === memory.byteOffset + filled;
      if (!there) memory.set(bytes.subarray(at, at + take), filled);
      this.#timer ??= setTimeout(() => this.#store(), COLLECT_MS);
      segment.filled += take;
      this.#next += take;
      at += take;
      if (segment.filled === capacity) this.#retire();
    }
    return this.#pool.room();
  }

  /**
   * Writes the rest and waits for all of it. Nothing may be read into `room` any more.
   *
   * @throws the error of a failed write
   */
  async end(): Promise<void> {
    this.#retire();
    await Promise.all(this.#writes);
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** The segment that the next bytes go to. */
  #current(): Segment {
    if (this.#segment === undefined) {
      // Segments end at multiples of their size, so that neighbours do not leave slivers.
      const capacity = SEGMENT_BYTES - (this.#next % SEGMENT_BYTES);
      const memory = this.#pool.take();
      this.#segment = { start: this.#next, memory, capacity, filled: 0, stored: 0, users: 1 };
    }
    return this.#segment;
  }

  /** Writes the bytes received so far; more may be on their way into the rest of the segment. */
  #store(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const segment = this.#segment;
    if (segment === undefined || segment.filled === segment.stored) return;
    const { start, memory, filled, stored } = segment;
    const bytes = filled - stored;
    segment.stored = filled;
    segment.users++;
    this.#pool.writing(bytes);
    const write = this.#file
      .store(start + stored, memory.subarray(stored, filled), this.#provisional)
      .catch((error: unknown) => {
        this.#failure ??= error;
      })
      .then(() => {
        this.#release(segment);
        this.#pool.writing(-bytes);
        this.#writes.delete(write);
      });
    this.#writes.add(write);
  }

  /** Writes the bytes received so far; no more go to this segment. */
  #retire(): void {
    this.#store();
    const segment = this.#segment;
    this.#segment = undefined;
    if (segment !== undefined) this.#release(segment);
  }

  /** Memory in use by a write or a read must not be reused. */
  #release(segment: Segment): void {
    if (--segment.users === 0) this.#pool.giveBack(segment.memory);
  }
}

/** Bytes that follow on each other, being collected. */
interface Segment {
  /** Position of the first in the file. */
  readonly start: number;
  readonly memory: Buffer;
  /** Bytes of the memory that belong to it. */
  readonly capacity: number;
  filled: number;
  /** The part of them that is on its way to the disk or there. */
  stored: number;
  /** Writes under way, and the connection. */
  users: number;
}
