/** How a file is cut into chunks, and which chunks an answer needs (NSDI 3.2). */

import { type ByteRange, intersect } from '../../base/byte-range.ts';
import { MAX_CHUNK_BYTES, MIN_CHUNK_BYTES } from '../../base/limits.ts';

/** Returns true for the sizes a file may be cut into: powers of two from 64 KiB to 16 MiB. */
export function isLegalChunkSize(bytes: number): boolean {
  return Number.isInteger(Math.log2(bytes)) && bytes >= MIN_CHUNK_BYTES && bytes <= MAX_CHUNK_BYTES;
}

/** Returns the chunk with the given index, cut short by the end of the file. */
export function chunkRange(index: number, chunkBytes: number, fileBytes: number): ByteRange {
  const start = index * chunkBytes;
  return { start, end: Math.min(start + chunkBytes, fileBytes) };
}

/**
 * Returns true when `range` is a chunk that some node may ask for: aligned to a legal size, or the
 * tail of a file so aligned. Anything else would let strangers fill caches with ranges of their
 * choice and make the origin send more than is used.
 *
 * @param fileBytes length of the file, if known
 */
export function isLegalChunk(range: ByteRange, fileBytes?: number): boolean {
  const bytes = range.end - range.start;
  if (fileBytes !== undefined && range.end > fileBytes) return false;
  if (isLegalChunkSize(bytes)) return range.start % bytes === 0;
  if (fileBytes !== undefined && range.end !== fileBytes) return false;
  // A tail is shorter than the chunk size, which may be any legal one that divides its start.
  return bytes < MAX_CHUNK_BYTES && tailSize(range) !== undefined;
}

function tailSize(range: ByteRange): number | undefined {
  for (let size = MIN_CHUNK_BYTES; size <= MAX_CHUNK_BYTES; size *= 2) {
    if (size > range.end - range.start && range.start % size === 0) return size;
  }
  return undefined;
}

/** A piece of an answer: the part of one chunk to send. */
export interface Slice {
  /** Index of the chunk in the file. */
  readonly chunk: number;
  /** Bytes of the file that are sent from it; inside the chunk, never empty. */
  readonly range: ByteRange;
}

/**
 * The slices of an answer in the order of its ranges, of a file cut into chunks of `chunkBytes`.
 * Slices are computed on demand: a file may have millions, and only a window is in use.
 */
export class SlicePlan {
  readonly #ranges: readonly ByteRange[];
  readonly #chunkBytes: number;
  /** Index of each range's first slice. */
  readonly #firsts: number[] = [];
  /** Number of slices. */
  readonly count: number;

  /** @param ranges non-empty ranges inside the file */
  constructor(ranges: readonly ByteRange[], chunkBytes: number) {
    this.#ranges = ranges;
    this.#chunkBytes = chunkBytes;
    let count = 0;
    for (const range of ranges) {
      this.#firsts.push(count);
      count += Math.ceil(range.end / chunkBytes) - Math.floor(range.start / chunkBytes);
    }
    this.count = count;
  }

  /**
   * Returns the slice with the given index.
   *
   * @param index 0 to count - 1
   * @throws RangeError for any other index
   */
  at(index: number): Slice {
    let r = this.#firsts.length - 1;
    while (r > 0 && (this.#firsts[r] as number) > index) r--;
    const range = this.#ranges[r] as ByteRange;
    const chunk = Math.floor(range.start / this.#chunkBytes) + index - (this.#firsts[r] as number);
    const start = chunk * this.#chunkBytes;
    const part = intersect(range, { start, end: start + this.#chunkBytes });
    if (part === undefined) throw new RangeError(`no slice ${index}`);
    return { chunk, range: part };
  }

  /** Bytes of all slices. */
  get bytes(): number {
    return this.#ranges.reduce((sum, range) => sum + range.end - range.start, 0);
  }

  /** Returns the whole range that begins with this slice, if any: there a multipart part begins. */
  rangeBeginningAt(index: number): ByteRange | undefined {
    return this.#ranges[this.#firsts.indexOf(index)];
  }
}
