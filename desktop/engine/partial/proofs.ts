/**
 * Keeps which stored bytes are proven: those that have the digests of their blocks. Each list of
 * digests, of a torrent or a Metalink document, has a name, and proves bytes of its own.
 */

import { type ByteRange, intersect, RangeSet } from '@millrace/shared/base/byte-range';
import type { ProvenEntry } from '@millrace/shared/download/journal/journal';

/** Most lists of digests whose proofs an earlier run hands on. */
const MAX_PROOFS = 4;

export class Proofs {
  /** Proven bytes, by the name of the list of digests. */
  readonly #proven = new Map<string, RangeSet>();

  /** Notes that the bytes of a range have the digests of their blocks. */
  add({ range, by }: ProvenEntry): void {
    this.#of(by).add(range);
  }

  /**
   * Notes what an earlier run proved, of the bytes that are still stored. Lists of digests beyond
   * MAX_PROOFS are ignored: a journal may have been written by anybody.
   */
  recover({ range, by }: ProvenEntry, stored: RangeSet): void {
    if (!this.#proven.has(by) && this.#proven.size >= MAX_PROOFS) return;
    const proven = this.#of(by);
    for (const one of stored.ranges) {
      const both = intersect(one, range);
      if (both !== undefined) proven.add(both);
    }
  }

  /** Removes bytes that are no longer stored. */
  remove(range: ByteRange): void {
    for (const proven of this.#proven.values()) proven.remove(range);
  }

  clear(): void {
    this.#proven.clear();
  }

  /** Returns the bytes that a list of digests proves, in order. */
  by(name: string): readonly ByteRange[] {
    return [...(this.#proven.get(name)?.ranges ?? [])];
  }

  /** Returns all proofs, for a journal that is written anew. */
  entries(): ProvenEntry[] {
    return [...this.#proven].flatMap(([by, { ranges }]) => ranges.map((range) => ({ range, by })));
  }

  #of(by: string): RangeSet {
    const known = this.#proven.get(by);
    if (known !== undefined) return known;
    const proven = new RangeSet();
    this.#proven.set(by, proven);
    return proven;
  }
}
