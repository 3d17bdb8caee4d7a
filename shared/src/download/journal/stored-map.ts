/**
 * Keeps the stored bytes of a file of any size, as a row of blocks that are empty, complete or
 * partial. Only partial blocks, of which there are few at a time, have byte ranges.
 */

import { type ByteRange, intersect, RangeSet, rangeBytes } from '../../base/byte-range.ts';

export class StoredMap {
  /** Length of the file in bytes. */
  readonly length: number;
  readonly blockBytes: number;
  /** One number per block; 1: every byte of the block is stored. */
  readonly #complete: Uint8Array;
  /** Stored ranges of blocks that are neither empty nor complete. */
  readonly #parts = new Map<number, RangeSet>();
  #bytes = 0;
  /** Every block below this one is complete. */
  #firstIncomplete = 0;

  constructor(length: number, blockBytes: number) {
    this.length = length;
    this.blockBytes = blockBytes;
    this.#complete = new Uint8Array(Math.ceil(length / blockBytes));
  }

  /** Number of stored bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Adds the bytes of `range`. @returns the number of new bytes */
  add(range: ByteRange): number {
    const before = this.#bytes;
    this.#eachBlock(range, (block, whole, part) => {
      if (this.#complete[block] === 1) return;
      const stored = this.#parts.get(block) ?? new RangeSet();
      const had = stored.bytes;
      stored.add(part);
      this.#bytes += stored.bytes - had;
      if (stored.bytes < rangeBytes(whole)) {
        this.#parts.set(block, stored);
        return;
      }
      this.#parts.delete(block);
      this.#complete[block] = 1;
    });
    while (this.#complete[this.#firstIncomplete] === 1) this.#firstIncomplete++;
    return this.#bytes - before;
  }

  /** Removes the bytes of `range`. @returns the number of removed bytes */
  remove(range: ByteRange): number {
    const before = this.#bytes;
    this.#eachBlock(range, (block, whole, part) => {
      const stored =
        this.#complete[block] === 1 ? new RangeSet([whole]) : (this.#parts.get(block) ?? undefined);
      if (stored === undefined) return;
      const had = stored.bytes;
      stored.remove(part);
      this.#bytes -= had - stored.bytes;
      if (stored.bytes === rangeBytes(whole)) return;
      this.#complete[block] = 0;
      this.#firstIncomplete = Math.min(this.#firstIncomplete, block);
      if (stored.bytes === 0) this.#parts.delete(block);
      else this.#parts.set(block, stored);
    });
    return before - this.#bytes;
  }

  /** Finds the first byte from `from` on that is not stored; the file's length if there is none. */
  nextMissing(from: number): number {
    let block = Math.max(Math.floor(from / this.blockBytes), this.#firstIncomplete);
    while (block < this.#complete.length) {
      if (this.#complete[block] === 1) {
        // Use a native search, because files can have very many blocks.
        block = this.#complete.indexOf(0, block);
        if (block < 0) return this.length;
      }
      const whole = this.#range(block);
      const at = Math.max(from, whole.start);
      const gap = this.#parts.get(block)?.missing({ start: at, end: whole.end })[0];
      if (gap !== undefined) return gap.start;
      if (!this.#parts.has(block)) return at;
      block++;
    }
    return this.length;
  }

  /** Finds the first stored byte from `from` up to `limit`; `limit` if there is none. */
  nextStored(from: number, limit: number): number {
    if (from >= limit) return limit;
    const complete = this.#complete.indexOf(1, Math.floor(from / this.blockBytes));
    let next = complete < 0 ? limit : Math.max(from, complete * this.blockBytes);
    for (const [block, { ranges }] of this.#parts) {
      if ((block + 1) * this.blockBytes <= from || block * this.blockBytes >= next) continue;
      const part = ranges.find(({ end }) => end > from);
      if (part !== undefined) next = Math.min(next, Math.max(from, part.start));
    }
    return Math.min(limit, next);
  }

  /** Counts the stored bytes of `range`. */
  bytesWithin(range: ByteRange): number {
    let sum = 0;
    this.#eachBlock(range, (block, _whole, part) => {
      if (this.#complete[block] === 1) sum += rangeBytes(part);
      else sum += this.#parts.get(block)?.bytesWithin(part) ?? 0;
    });
    return sum;
  }

  /** Lists the parts of `range` that are not stored, ascending. */
  missing(range: ByteRange): ByteRange[] {
    const gaps: ByteRange[] = [];
    const limit = Math.min(range.end, this.length);
    let start = this.nextMissing(range.start);
    while (start < limit) {
      const end = this.nextStored(start, limit);
      gaps.push({ start, end });
      start = this.nextMissing(end);
    }
    return gaps;
  }

  #range(block: number): ByteRange {
    const start = block * this.blockBytes;
    return { start, end: Math.min(this.length, start + this.blockBytes) };
  }

  /** Calls `visit` with each block that `range` touches, and with the part that both share. */
  #eachBlock(
    range: ByteRange,
    visit: (block: number, whole: ByteRange, part: ByteRange) => void,
  ): void {
    const inside = intersect(range, { start: 0, end: this.length });
    if (inside === undefined) return;
    const last = Math.floor((inside.end - 1) / this.blockBytes);
    for (let block = Math.floor(inside.start / this.blockBytes); block <= last; block++) {
      const whole = this.#range(block);
      visit(block, whole, intersect(whole, inside) as ByteRange);
    }
  }
}
