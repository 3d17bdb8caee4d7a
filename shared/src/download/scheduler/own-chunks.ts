/**
 * Client-side routing: finds the next bytes in the chunks of the file that a source owns
 * (NSDI 5.1).
 */

import type { ByteRange } from '../../base/byte-range.ts';

const UNKNOWN = 0;
const FOREIGN = 1;
const OWN = 2;

export class OwnChunks {
  readonly #chunkBytes: number;
  readonly #length: number;
  readonly #owns: (position: number) => boolean;
  /** Results of `owns`, so that each chunk is hashed once. */
  readonly #known: Uint8Array;
  /** First chunk to search: no own chunk below it has bytes left to fetch. */
  #cursor = 0;

  /** @param owns returns true if the source owns the chunk that begins at a position */
  constructor(length: number, chunkBytes: number, owns: (position: number) => boolean) {
    this.#length = length;
    this.#chunkBytes = chunkBytes;
    this.#owns = owns;
    this.#known = new Uint8Array(Math.ceil(length / chunkBytes));
  }

  /** Notes that bytes at `position` have become free again. */
  reopen(position: number): void {
    this.#cursor = Math.min(this.#cursor, Math.floor(position / this.#chunkBytes));
  }

  /**
   * Finds the first free bytes in an own chunk, and in own chunks that directly follow it.
   *
   * @param bytes number of wanted bytes: a further chunk is begun only if they fill it
   * @param free finds the first run of free bytes within a range
   */
  next(bytes: number, free: (within: ByteRange) => ByteRange | undefined): ByteRange | undefined {
    for (; this.#cursor < this.#known.length; this.#cursor++) {
      if (!this.#isOwn(this.#cursor)) continue;
      const start = this.#cursor * this.#chunkBytes;
      const end = Math.min(this.#length, start + this.#chunkBytes);
      const run = free({ start, end });
      if (run === undefined) continue;
      return run.end < end ? run : free({ start: run.start, end: this.#rowEnd(bytes) });
    }
    return undefined;
  }

  /** Finds the end of the row of own chunks at the cursor, `bytes` or one chunk long at most. */
  #rowEnd(bytes: number): number {
    const most = this.#cursor + Math.max(1, Math.floor(bytes / this.#chunkBytes));
    let chunk = this.#cursor + 1;
    while (chunk < most && this.#isOwn(chunk)) chunk++;
    return Math.min(this.#length, chunk * this.#chunkBytes);
  }

  #isOwn(chunk: number): boolean {
    if (chunk >= this.#known.length) return false;
    if (this.#known[chunk] === UNKNOWN) {
      this.#known[chunk] = this.#owns(chunk * this.#chunkBytes) ? OWN : FOREIGN;
    }
    return this.#known[chunk] === OWN;
  }
}
