/**
 * A file as a row of blocks, the unit of the client's scheduler in LOCI 3.2. Keeps which blocks are
 * complete and how many requests for each are under way, and chooses the block to fetch next.
 */

import type { ByteRange } from '../../base/byte-range.ts';

export interface Redundancy {
  /** Most requests for one block at a time, R in LOCI 3.2; 1: no redundancy. */
  readonly copies: number;
  /** Number of complete blocks after a block beyond which the block is late, P in LOCI 3.2. */
  readonly progress: number;
}

/** The basic algorithm of LOCI 3.2: every block once. */
export const BASIC: Redundancy = { copies: 1, progress: 0 };

export class BlockMap {
  /** Length of the file in bytes. */
  readonly length: number;
  readonly blockBytes: number;
  readonly count: number;
  /** Requests under way per block: LOCI's download number minus failed requests. */
  readonly #running: Uint8Array;
  readonly #done: Uint8Array;
  #doneCount = 0;
  /** Every block below this one is complete. */
  #firstUnfinished = 0;
  /** Every block below this one has been started or completed. */
  #firstUntouched = 0;

  /** @param length of the file in bytes, at least 1 */
  constructor(length: number, blockBytes: number) {
    this.length = length;
    this.blockBytes = blockBytes;
    this.count = Math.ceil(length / blockBytes);
    this.#running = new Uint8Array(this.count);
    this.#done = new Uint8Array(this.count);
  }

  /** Number of complete blocks. */
  get doneCount(): number {
    return this.#doneCount;
  }

  get allDone(): boolean {
    return this.#doneCount === this.count;
  }

  isDone(block: number): boolean {
    return this.#done[block] === 1;
  }

  /** Returns the number of requests under way for a block. */
  running(block: number): number {
    return this.#running[block] as number;
  }

  /** Returns the range of a block in the file. */
  range(block: number): ByteRange {
    const start = block * this.blockBytes;
    return { start, end: Math.min(this.length, start + this.blockBytes) };
  }

  /**
   * Chooses the block that a free connection fetches next (LOCI 3.2):
   * 1. the first unfinished block with fewer than `copies` requests that more than `progress`
   *   blocks after it have overtaken;
   * 2. otherwise the next block not started;
   * 3. otherwise the first unfinished block with fewer than `copies` requests.
   *
   * @param allowed tells whether the connection's source may fetch a block that is under way:
   *   redundant requests go to other sources than the late request
   * @param has tells whether the connection's source may fetch a block at all
   * @returns undefined if there is nothing to do
   */
  next(
    redundancy: Redundancy,
    allowed: (block: number) => boolean = () => true,
    has: (block: number) => boolean = () => true,
  ): number | undefined {
    const { copies, progress } = redundancy;
    let fallback: number | undefined;
    let doneBefore = this.#firstUnfinished;
    for (let block = this.#firstUnfinished; block < this.#firstUntouched; block++) {
      if (this.#done[block] === 1) {
        doneBefore++;
        continue;
      }
      const running = this.running(block);
      if (running >= copies || (running > 0 && !allowed(block)) || !has(block)) continue;
      if (this.#doneCount - doneBefore > progress) return block;
      fallback ??= block;
    }
    for (let block = this.#firstUntouched; block < this.count; block++) {
      if (this.#done[block] === 0 && has(block)) return block;
    }
    return fallback;
  }

  /** Notes that a request for the block begins. */
  start(block: number): void {
    this.#running[block] = this.running(block) + 1;
    while (
      this.#firstUntouched < this.count &&
      (this.#done[this.#firstUntouched] === 1 || this.#firstUntouched <= block)
    ) {
      this.#firstUntouched++;
    }
  }

  /** Notes that a request for the block has ended, with or without bytes. */
  end(block: number): void {
    this.#running[block] = Math.max(0, this.running(block) - 1);
  }

  /** Notes that the block is complete. */
  finish(block: number): void {
    if (this.#done[block] === 1) return;
    this.#done[block] = 1;
    this.#doneCount++;
    while (this.#done[this.#firstUnfinished] === 1) this.#firstUnfinished++;
    this.#firstUntouched = Math.max(this.#firstUntouched, this.#firstUnfinished);
  }

  /** Notes that the block must be fetched again, because its bytes are wrong or lost. */
  reopen(block: number): void {
    if (this.#done[block] === 0) return;
    this.#done[block] = 0;
    this.#doneCount--;
    this.#firstUnfinished = Math.min(this.#firstUnfinished, block);
  }
}
