/**
 * Searches a file for the blocks of another one, at any position, by a sum that rolls over its bytes
 * (the algorithm of rsync, with the blocks in a row of zsync). A found block is likely right, no more.
 */

import { Md4 } from './md4.ts';
import type { ZsyncFile } from './zsync-file.ts';

/** A part of the wanted file that the searched one seems to have. */
export interface FoundRun {
  /** Position in the wanted file, bytes. */
  readonly start: number;
  /** Position in the searched file, bytes; what is beyond its end is zeros. */
  readonly from: number;
  readonly bytes: number;
}

/** Most blocks with one sum that are compared at a position. */
const MOST_ALIKE = 64;
/** Bytes of MD4 in vain, for each byte searched, after which a list is hostile or useless. */
const VAIN_SHARE = 4;
const MIN_VAIN_BYTES = 64 * 1024 * 1024;
/** Bits of the filter before the table, for each block, as a power of two. */
const FILTER_SHIFT = 3;
const NONE = -1;

export class BlockSearch {
  readonly #file: ZsyncFile;
  readonly #md4 = new Md4();
  /** Filter of keys, a bit each; most positions need no more. */
  readonly #filter: Uint32Array;
  readonly #filterMask: number;
  /** First block of each key, and the next one of the same slot. */
  readonly #heads: Int32Array;
  readonly #next: Int32Array;
  readonly #headMask: number;
  /** Position in the searched file of each found block. */
  readonly #from: Float64Array;
  /** The block that follows the last found one, and is likely to be next. */
  #expected = NONE;
  #vainBytes = 0;
  #searchedBytes = 0;

  constructor(file: ZsyncFile) {
    this.#file = file;
    const { count, inRow } = file;
    const bits = Math.max(8, Math.ceil(Math.log2(count + 1)));
    this.#headMask = 2 ** bits - 1;
    this.#filterMask = 2 ** Math.min(31, bits + FILTER_SHIFT) - 1;
    this.#heads = new Int32Array(2 ** bits).fill(NONE);
    this.#filter = new Uint32Array((this.#filterMask + 1) / 32);
    this.#next = new Int32Array(count).fill(NONE);
    this.#from = new Float64Array(count).fill(NONE);
    // Backwards, so that the first of several is found first.
    for (let i = count - inRow; i >= 0; i--) this.#enter(i);
  }

  /** Bytes that must follow a position, so that a block there can be found. */
  get windowBytes(): number {
    return this.#file.blockBytes * this.#file.inRow;
  }

  /** True once the list has cost more than it can be worth: nothing more is found. */
  get isOver(): boolean {
    return this.#vainBytes > Math.max(MIN_VAIN_BYTES, VAIN_SHARE * this.#searchedBytes);
  }

  /**
   * Searches positions in order.
   *
   * @param bytes of the searched file, at least `windowBytes` beyond `end`
   * @param base position of `bytes` in the searched file
   * @param start first position, relative to `bytes`
   * @param end positions from here on are left for the next call
   * @returns first position of the next call, relative to `bytes`; it may be beyond `end`
   */
  scan(bytes: Uint8Array, base: number, start: number, end: number): number {
    const { blockBytes, inRow, sumMask } = this.#file;
    const isPair = inRow === 2;
    let at = start;
    while (at < end && !this.isOver) {
      const expected = this.#expected;
      this.#expected = NONE;
      let sum = sumOf(bytes, at, blockBytes);
      if (expected !== NONE && this.#matches(expected, sum & sumMask, bytes, at)) {
        this.#found(expected, base + at);
        at += blockBytes;
        continue;
      }
      let second = isPair ? sumOf(bytes, at + blockBytes, blockBytes) : 0;
      const from = at;
      for (;;) {
        const key = keyOf(sum & sumMask, second & sumMask);
        if (this.#isKnown(key)) {
          const block = this.#look(key, sum & sumMask, second & sumMask, bytes, at);
          if (block !== NONE) {
            this.#found(block, base + at);
            at += blockBytes;
            break;
          }
          if (this.isOver) break;
        }
        const middle = bytes[at + blockBytes] as number;
        sum = rolled(sum, bytes[at] as number, middle, blockBytes);
        if (isPair)
          second = rolled(second, middle, bytes[at + 2 * blockBytes] as number, blockBytes);
        if (++at >= end) break;
      }
      this.#searchedBytes += at - from;
    }
    return at;
  }

  /** Returns all that was found, in the order of the wanted file. */
  runs(): FoundRun[] {
    this.#spread();
    const { length, blockBytes, count } = this.#file;
    const runs: { start: number; from: number; bytes: number }[] = [];
    for (let i = 0; i < count; i++) {
      const from = this.#from[i] as number;
      if (from === NONE) continue;
      const start = i * blockBytes;
      const bytes = Math.min(blockBytes, length - start);
      const last = runs.at(-1);
      const joins =
        last !== undefined && last.start + last.bytes === start && last.from + last.bytes === from;
      if (joins) last.bytes += bytes;
      else runs.push({ start, from, bytes });
    }
    return runs;
  }

  #enter(block: number): void {
    const key = this.#key(block);
    const slot = key & this.#headMask;
    this.#next[block] = this.#heads[slot] as number;
    this.#heads[slot] = block;
    const bit = filterBit(key) & this.#filterMask;
    this.#filter[bit >>> 5] = (this.#filter[bit >>> 5] as number) | (1 << (bit & 31));
  }

  /** Returns the key of a block that enough others follow. */
  #key(block: number): number {
    const { sums, inRow } = this.#file;
    return keyOf(sums[block] as number, inRow === 2 ? (sums[block + 1] as number) : 0);
  }

  #isKnown(key: number): boolean {
    const bit = filterBit(key) & this.#filterMask;
    return (((this.#filter[bit >>> 5] as number) >>> (bit & 31)) & 1) === 1;
  }

  /** Returns a block that begins at a position, and is followed by the one that should follow. */
  #look(key: number, sum: number, second: number, bytes: Uint8Array, at: number): number {
    const { sums, inRow, blockBytes } = this.#file;
    let tried = 0;
    let block = this.#heads[key & this.#headMask] as number;
    for (; block !== NONE && tried < MOST_ALIKE; block = this.#next[block] as number) {
      tried++;
      if (this.#from[block] !== NONE) continue;
      if (sums[block] !== sum >>> 0) continue;
      if (inRow === 2 && sums[block + 1] !== second >>> 0) continue;
      if (!this.#matches(block, sum, bytes, at)) continue;
      if (inRow === 1 || this.#matches(block + 1, second, bytes, at + blockBytes)) return block;
    }
    return NONE;
  }

  #matches(block: number, sum: number, bytes: Uint8Array, at: number): boolean {
    const { sums, md4s, md4Bytes, blockBytes } = this.#file;
    if (sums[block] !== sum >>> 0) return false;
    const digest = this.#md4.digest(bytes, at, at + blockBytes);
    for (let i = 0, there = block * md4Bytes; i < md4Bytes; i++, there++) {
      if (digest[i] === md4s[there]) continue;
      this.#vainBytes += blockBytes;
      return false;
    }
    return true;
  }

  #found(block: number, from: number): void {
    this.#from[block] = from;
    this.#searchedBytes += this.#file.blockBytes;
    const next = block + 1;
    const isWanted = next < this.#file.count && this.#from[next] === NONE;
    this.#expected = isWanted ? next : NONE;
    if (next + this.#file.inRow <= this.#file.count + 1) this.#drop(block, from);
  }

  /**
   * Takes a found block and those that equal it out of a chain. If they stayed, the search would find
   * them again, and step over other blocks that begin within their bytes.
   */
  #drop(found: number, from: number): void {
    const slot = this.#key(found) & this.#headMask;
    let before = NONE;
    let others = 0;
    for (let i = this.#heads[slot] as number; i !== NONE && others < MOST_ALIKE; ) {
      const next = this.#next[i] as number;
      if (i === found || this.#isSame(i, found)) {
        if (before === NONE) this.#heads[slot] = next;
        else this.#next[before] = next;
        if (this.#from[i] === NONE) this.#from[i] = from;
      } else {
        before = i;
        others++;
      }
      i = next;
    }
  }

  /** Gives a found block to all blocks that are equal to it. The tables of the search are used anew. */
  #spread(): void {
    const { count } = this.#file;
    this.#heads.fill(NONE);
    for (let i = 0; i < count; i++) {
      if (this.#from[i] === NONE || this.#twin(i) !== NONE) continue;
      const slot = this.#slot(i);
      this.#next[i] = this.#heads[slot] as number;
      this.#heads[slot] = i;
    }
    for (let i = 0; i < count; i++) {
      if (this.#from[i] !== NONE) continue;
      const twin = this.#twin(i);
      if (twin !== NONE) this.#from[i] = this.#from[twin] as number;
    }
  }

  /** Returns a found block in the table that is equal to a block. */
  #twin(block: number): number {
    let other = this.#heads[this.#slot(block)] as number;
    for (let tried = 0; other !== NONE && tried < MOST_ALIKE; tried++) {
      if (this.#isSame(block, other)) return other;
      other = this.#next[other] as number;
    }
    return NONE;
  }

  #slot(block: number): number {
    const { sums, md4s, md4Bytes } = this.#file;
    const at = block * md4Bytes;
    const [x, y, z] = md4s.subarray(at, at + 3) as unknown as [number, number, number];
    return keyOf(sums[block] as number, (x << 16) | (y << 8) | z) & this.#headMask;
  }

  #isSame(one: number, other: number): boolean {
    const { count, sums, md4s, md4Bytes } = this.#file;
    if (other >= count || sums[one] !== sums[other]) return false;
    for (let i = 0; i < md4Bytes; i++) {
      if (md4s[one * md4Bytes + i] !== md4s[other * md4Bytes + i]) return false;
    }
    return true;
  }
}

/**
 * Returns the rolling sum of some bytes: the sum of them in the upper 16 bits, and in the lower ones
 * their sum weighted by the distance from the end (zsync, rsum.c).
 */
export function sumOf(bytes: Uint8Array, at: number, count: number): number {
  let a = 0;
  let b = 0;
  for (let i = at; i < at + count; i++) {
    a = (a + (bytes[i] as number)) | 0;
    b = (b + a) | 0;
  }
  return (a << 16) | (b & 0xffff);
}

/** Moves a sum on by one byte. */
function rolled(sum: number, leaves: number, comes: number, count: number): number {
  const a = (sum >>> 16) + comes - leaves;
  const b = (sum & 0xffff) + a - Math.imul(count, leaves);
  return (a << 16) | (b & 0xffff);
}

/** Mixes the sums of two blocks in a row. */
function keyOf(sum: number, second: number): number {
  const mixed = Math.imul(sum, 0x9e3779b1) ^ Math.imul(second, 0x85ebca6b);
  return mixed ^ (mixed >>> 15);
}

/** Spreads a key again, so that the filter does not repeat the table. */
function filterBit(key: number): number {
  const mixed = Math.imul(key, 0xc2b2ae35);
  return (mixed ^ (mixed >>> 13)) >>> 0;
}
