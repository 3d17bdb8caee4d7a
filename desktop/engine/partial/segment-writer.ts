/**
 * Takes the bytes of a response to the partial file: collects them into segments, so that writing,
 * hashing and journaling cost little per byte, and holds the source back when the disk is slower.
 */

import type { PartialFile } from './partial-file.ts';
import { type Collecting, SEGMENT_BYTES, type SegmentPool } from './segment-pool.ts';

/** Longest time for which bytes stay in memory, in milliseconds: a crash loses them. */
const COLLECT_MS = 500;

export class SegmentWriter implements Collecting {
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
   * @param start position of the first expected bytes
   * @param provisional written bytes count for this run only, until `PartialFile.confirm` confirms
   *   them
   */
  constructor(file: PartialFile, pool: SegmentPool, start = 0, provisional = false) {
    this.#file = file;
    this.#pool = pool;
    this.#next = start;
    this.#provisional = provisional;
  }

  /**
   * Returns memory for the next bytes: bytes read into its beginning need not be copied when
   * `write` is called with them. The memory is valid until the next call of `room` or `end`, or
   * until a `write` of other bytes.
   *
   * @param end position that bounds the wanted bytes, unless the next ones are already beyond it
   */
  room(end = Number.POSITIVE_INFINITY): Buffer {
    const { memory, filled, capacity } = this.#current();
    const most = end > this.#next ? end - this.#next : Number.POSITIVE_INFINITY;
    return memory.subarray(filled, Math.min(capacity, filled + most));
  }

  /**
   * Takes bytes at a position, in any order, and copies them unless they were read into `room`.
   *
   * @returns a promise to wait for before taking more, if the disk is behind
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
      this.#timer ??= setTimeout(() => this.store(), COLLECT_MS);
      segment.filled += take;
      this.#next += take;
      at += take;
      if (segment.filled === capacity) this.#retire();
      else if (!this.#provisional) this.#pool.collected(this, take);
    }
    return this.#pool.room();
  }

  /**
   * Writes the remaining bytes and waits for all writes. Nothing may be read into `room` any more.
   *
   * @throws the error of a failed write
   */
  async end(): Promise<void> {
    this.#retire();
    await Promise.all(this.#writes);
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Returns the segment for the next bytes. */
  #current(): Segment {
    if (this.#segment === undefined) {
      // Segments end at multiples of their size, so that neighbours do not leave slivers.
      const capacity = SEGMENT_BYTES - (this.#next % SEGMENT_BYTES);
      const memory = this.#pool.take();
      const counts = { filled: 0, stored: 0, users: 1, last: undefined };
      this.#segment = { start: this.#next, memory, capacity, ...counts };
    }
    return this.#segment;
  }

  /** Writes the bytes received so far; more may be on their way into the rest of the segment. */
  store(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#pool.storing(this);
    const segment = this.#segment;
    if (segment === undefined || segment.filled === segment.stored) return;
    const { start, memory, filled, stored } = segment;
    const bytes = filled - stored;
    segment.stored = filled;
    segment.users++;
    this.#pool.writing(bytes);
    // The parts of a segment are written in order, so that one digest grows with them.
    const begin = () =>
      this.#file.store(start + stored, memory.subarray(stored, filled), this.#provisional);
    const write = (segment.last === undefined ? begin() : segment.last.then(begin))
      .catch((error: unknown) => {
        this.#failure ??= error;
      })
      .then(() => {
        if (segment.last === write) segment.last = undefined;
        this.#release(segment);
        this.#pool.writing(-bytes);
        this.#writes.delete(write);
      });
    segment.last = write;
    this.#writes.add(write);
  }

  /** Writes the bytes received so far, and ends the segment. */
  #retire(): void {
    this.store();
    const segment = this.#segment;
    this.#segment = undefined;
    if (segment !== undefined) this.#release(segment);
  }

  /** Ends one use of the segment: its memory is reused once no write or read uses it. */
  #release(segment: Segment): void {
    if (--segment.users === 0) this.#pool.giveBack(segment.memory);
  }
}

/** Consecutive bytes that are being collected. */
interface Segment {
  /** Position of the segment's first byte in the file. */
  readonly start: number;
  readonly memory: Buffer;
  /** Number of bytes of the memory that belong to the segment. */
  readonly capacity: number;
  filled: number;
  /** Number of bytes that are on disk or on their way there. */
  stored: number;
  /** Number of writes under way, plus one for the connection. */
  users: number;
  /** Resolves at the end of the last write; undefined: no write is under way. */
  last: Promise<void> | undefined;
}
