/**
 * Keeps the digests of a journal's entries in memory. The file's length bounds their number,
 * however small the written pieces are: one digest replaces the pieces that fill a unit.
 */

import { type ByteRange, intersect } from '../../base/byte-range.ts';
import { toHex } from '../../base/digest.ts';
import type { JournalEntry } from './journal.ts';

const DIGEST_BYTES = 8;
/** Number of units whose digests share a group, which takes 9 bytes per unit. */
const GROUP_UNITS = 1024;

interface Group {
  readonly digests: Uint8Array;
  /** One number per unit; 1: the digest of the unit is known. */
  readonly known: Uint8Array;
}

export class JournalEntries {
  readonly #length: number;
  readonly #unitBytes: number;
  readonly #groups = new Map<number, Group>();
  /** Entries for parts of units, by unit. */
  readonly #parts = new Map<number, JournalEntry[]>();
  #count = 0;

  /**
   * @param length of the file in bytes
   * @param unitBytes length of a unit; units begin at its multiples, and one entry can stand for
   *   all of a unit
   */
  constructor(length: number, unitBytes: number) {
    this.#length = length;
    this.#unitBytes = unitBytes;
  }

  /** Number of entries, each a line of the journal. */
  get count(): number {
    return this.#count;
  }

  /** Cuts a range into parts that lie in one unit each. */
  *cut(range: ByteRange): Generator<ByteRange> {
    for (let at = range.start; at < range.end; ) {
      const end = Math.min(range.end, this.#unit(this.#index(at)).end);
      yield { start: at, end };
      at = end;
    }
  }

  /**
   * Adds an entry and removes older ones for any of its bytes.
   *
   * @param entry of bytes within one unit
   * @returns the unit's entries if several now fill it: the caller can replace them by adding one
   *   with the digest of the unit
   * @throws RangeError for bytes of several units
   */
  add(entry: JournalEntry): readonly JournalEntry[] | undefined {
    const index = this.#index(entry.range.start);
    const unit = this.#unit(index);
    if (entry.range.end > unit.end) throw new RangeError('an entry of several units');
    this.remove(entry.range);
    this.#count++;
    if (entry.range.start === unit.start && entry.range.end === unit.end) {
      this.#setWhole(index, entry.digest);
      return undefined;
    }
    const parts = this.#parts.get(index) ?? [];
    parts.push(entry);
    this.#parts.set(index, parts);
    const bytes = parts.reduce((sum, { range }) => sum + range.end - range.start, 0);
    return bytes === unit.end - unit.start ? sorted(parts) : undefined;
  }

  /**
   * Removes all entries that touch a range.
   *
   * @returns the ranges of the removed entries; their bytes outside `range` have lost their digest
   */
  remove(range: ByteRange): ByteRange[] {
    const gone: ByteRange[] = [];
    for (const { start } of this.cut(range)) {
      const index = this.#index(start);
      if (this.#whole(index) !== undefined) {
        (this.#groups.get(Math.floor(index / GROUP_UNITS)) as Group).known[index % GROUP_UNITS] = 0;
        gone.push(this.#unit(index));
      }
      const parts = this.#parts.get(index) ?? [];
      const kept = parts.filter((part) => intersect(part.range, range) === undefined);
      for (const part of parts) if (!kept.includes(part)) gone.push(part.range);
      if (kept.length > 0) this.#parts.set(index, kept);
      else this.#parts.delete(index);
    }
    this.#count -= gone.length;
    return gone;
  }

  /** Lists all entries, ascending. */
  *[Symbol.iterator](): Generator<JournalEntry> {
    const indices = [...this.#groups].flatMap(([group, { known }]) =>
      [...known.keys()].filter((i) => known[i] === 1).map((i) => group * GROUP_UNITS + i),
    );
    indices.push(...this.#parts.keys());
    for (const index of indices.sort((a, b) => a - b)) {
      const digest = this.#whole(index);
      if (digest !== undefined) yield { range: this.#unit(index), digest };
      else yield* sorted(this.#parts.get(index) ?? []);
    }
  }

  #index(position: number): number {
    return Math.floor(position / this.#unitBytes);
  }

  #unit(index: number): ByteRange {
    const start = index * this.#unitBytes;
    return { start, end: Math.min(this.#length, start + this.#unitBytes) };
  }

  #whole(index: number): string | undefined {
    const group = this.#groups.get(Math.floor(index / GROUP_UNITS));
    const at = index % GROUP_UNITS;
    if (group?.known[at] !== 1) return undefined;
    const digest = group.digests.subarray(at * DIGEST_BYTES, (at + 1) * DIGEST_BYTES);
    return toHex(digest);
  }

  #setWhole(index: number, digest: string): void {
    const number = Math.floor(index / GROUP_UNITS);
    let group = this.#groups.get(number);
    if (group === undefined) {
      group = {
        digests: new Uint8Array(GROUP_UNITS * DIGEST_BYTES),
        known: new Uint8Array(GROUP_UNITS),
      };
      this.#groups.set(number, group);
    }
    const at = index % GROUP_UNITS;
    for (let i = 0; i < DIGEST_BYTES; i++) {
      group.digests[at * DIGEST_BYTES + i] = Number.parseInt(digest.slice(2 * i, 2 * i + 2), 16);
    }
    group.known[at] = 1;
  }
}

function sorted(entries: readonly JournalEntry[]): JournalEntry[] {
  return [...entries].sort((a, b) => a.range.start - b.range.start);
}
