/**
 * Digests of bytes that are being written: of each write, and of a unit that several writes fill
 * from its beginning to its end. Without the latter the unit would have to be read again.
 */

import type { ByteRange } from '@millrace/shared/base/byte-range';
import { RunningDigest, segmentDigest } from './segment-digest.ts';

/** Most units that are followed at a time, each with one object of some hundred bytes. */
const MAX_UNITS = 64;

/** Digests of a write. */
export interface WriteDigests {
  /** XXH64 of the written bytes, 16 hexadecimal digits. */
  readonly digest: string;
  /** Digest of the unit up to the end of the write; undefined: its beginning was not followed. */
  readonly beginning: { readonly running: RunningDigest; readonly digest: string } | undefined;
  /** Number of removals before the write began. */
  readonly edition: number;
}

export class UnitDigests {
  readonly #length: number;
  readonly #unitBytes: number;
  /** Digests of the written beginnings of units by their ends, the one extended last at the end. */
  readonly #beginnings = new Map<number, RunningDigest>();
  #edition = 0;

  /**
   * @param length of the file in bytes
   * @param unitBytes length of a unit; units begin at its multiples
   */
  constructor(length: number, unitBytes: number) {
    this.#length = length;
    this.#unitBytes = unitBytes;
  }

  /**
   * Computes the digests of bytes that are being written.
   *
   * @param range of the bytes, which lies in one unit
   */
  of(range: ByteRange, bytes: Uint8Array): WriteDigests {
    const edition = this.#edition;
    if (range.start % this.#unitBytes === 0) {
      if (this.#isEnd(range.end)) {
        return { digest: segmentDigest(bytes), beginning: undefined, edition };
      }
      const running = new RunningDigest();
      const digest = running.add(bytes);
      return { digest, beginning: { running, digest }, edition };
    }
    const running = this.#beginnings.get(range.start);
    // From here on the digest covers bytes that are not written yet.
    this.#beginnings.delete(range.start);
    const beginning = running && { running, digest: running.add(bytes) };
    return { digest: segmentDigest(bytes), beginning, edition };
  }

  /**
   * Notes that a write has ended.
   *
   * @returns the digest of the unit if the writes have filled it, and no bytes were removed
   */
  written({ end }: ByteRange, { beginning, edition }: WriteDigests): string | undefined {
    if (beginning === undefined || edition !== this.#edition) return undefined;
    if (this.#isEnd(end)) return beginning.digest;
    this.#beginnings.set(end, beginning.running);
    const [oldest = end] = this.#beginnings.keys();
    if (this.#beginnings.size > MAX_UNITS) this.#beginnings.delete(oldest);
    return undefined;
  }

  /** Forgets the beginnings of all units, because bytes were removed. */
  clear(): void {
    this.#beginnings.clear();
    this.#edition++;
  }

  /** Returns true for the end of a unit. */
  #isEnd(position: number): boolean {
    return position % this.#unitBytes === 0 || position === this.#length;
  }
}
