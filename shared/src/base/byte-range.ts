/**
 * Byte positions in a file. Inside Millrace a range is half-open, [start, end), so that lengths
 * are differences and neighbours share a number; HTTP's inclusive form exists only in header
 * fields and chunk names.
 */

/** Bytes `start` up to but not including `end`; start <= end, both safe integers from 0. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** Returns the number of bytes in a range. */
export function rangeBytes(range: ByteRange): number {
  return range.end - range.start;
}

/** Returns the bytes that two ranges share, or undefined. */
export function intersect(a: ByteRange, b: ByteRange): ByteRange | undefined {
  const start = Math.max(a.start, b.start);
  const end = Math.min(a.end, b.end);
  return start < end ? { start, end } : undefined;
}

/**
 * Finds the index of the first range that ends behind a position.
 *
 * @param ranges ascending and disjoint
 * @returns the number of ranges if there is none
 */
export function firstBehind(ranges: readonly ByteRange[], position: number): number {
  let low = 0;
  let high = ranges.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ranges[middle] as ByteRange).end > position) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Most ranges that a message names. */
const MOST_SHOWN = 3;

/** Writes ranges for a message, first and last byte of each: `bytes 0-99, 200-299 and 3 more`. */
export function shownRanges(ranges: readonly ByteRange[]): string {
  const named = ranges.slice(0, MOST_SHOWN).map(({ start, end }) => `${start}-${end - 1}`);
  const more = ranges.length - named.length;
  return `bytes ${named.join(', ')}${more > 0 ? ` and ${more} more ranges` : ''}`;
}

/**
 * A set of bytes, kept as sorted, disjoint, non-touching ranges. Additions that arrive roughly
 * in order cost O(1); others, and removals, O(number of ranges). Questions about a range cost the
 * logarithm of that number, and the ranges in it.
 */
export class RangeSet {
  #ranges: ByteRange[] = [];
  #bytes = 0;

  constructor(ranges: Iterable<ByteRange> = []) {
    for (const range of ranges) this.add(range);
  }

  /** Number of bytes in the set. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The ranges, ascending; do not modify. */
  get ranges(): readonly ByteRange[] {
    return this.#ranges;
  }

  /** Adds the bytes of `range`; those already present stay. */
  add(range: ByteRange): void {
    if (range.start >= range.end) return;
    const ranges = this.#ranges;
    // Everything from `first` up to `last` overlaps or touches the new range.
    let first = ranges.length;
    while (first > 0 && (ranges[first - 1] as ByteRange).end >= range.start) first--;
    let last = first;
    let { start, end } = range;
    while (last < ranges.length && (ranges[last] as ByteRange).start <= range.end) {
      const old = ranges[last] as ByteRange;
      start = Math.min(start, old.start);
      end = Math.max(end, old.end);
      this.#bytes -= rangeBytes(old);
      last++;
    }
    ranges.splice(first, last - first, { start, end });
    this.#bytes += end - start;
  }

  /** Takes the bytes of `range` out of the set. */
  remove(range: ByteRange): void {
    // An empty range inside one of ours would cut it into two that touch.
    if (range.start >= range.end) return;
    const kept: ByteRange[] = [];
    for (const old of this.#ranges) {
      if (old.end <= range.start || old.start >= range.end) {
        kept.push(old);
        continue;
      }
      if (old.start < range.start) kept.push({ start: old.start, end: range.start });
      if (old.end > range.end) kept.push({ start: range.end, end: old.end });
    }
    this.#ranges = kept;
    this.#bytes = kept.reduce((sum, r) => sum + rangeBytes(r), 0);
  }

  /** Returns true when every byte of `range` is in the set. An empty range is always covered. */
  covers(range: ByteRange): boolean {
    if (range.start >= range.end) return true;
    const r = this.#ranges[firstBehind(this.#ranges, range.start)];
    return r !== undefined && r.start <= range.start && r.end >= range.end;
  }

  /** Returns the parts of `range` that are not in the set, ascending. */
  missing(range: ByteRange): ByteRange[] {
    const gaps: ByteRange[] = [];
    let at = range.start;
    for (let i = firstBehind(this.#ranges, at); i < this.#ranges.length; i++) {
      const r = this.#ranges[i] as ByteRange;
      if (r.start >= range.end) break;
      if (r.start > at) gaps.push({ start: at, end: r.start });
      at = Math.max(at, r.end);
    }
    if (at < range.end) gaps.push({ start: at, end: range.end });
    return gaps;
  }

  /** Returns the number of bytes of `range` in the set. */
  bytesWithin(range: ByteRange): number {
    let sum = 0;
    for (let i = firstBehind(this.#ranges, range.start); i < this.#ranges.length; i++) {
      const shared = intersect(this.#ranges[i] as ByteRange, range);
      if (shared === undefined) break;
      sum += rangeBytes(shared);
    }
    return sum;
  }
}
