/**
 * SHA-256 of the segments of downloads.
 *
 * Hashed at once, on the thread that received them, where the processor is quick at it (0.7 ms for
 * a segment of 1 MiB with SHA instructions): every other way was dearer. WebCrypto copies the bytes
 * before and overwrites the copy after (0.5 CPU-seconds more per GiB); a thread of our own needs
 * them in shared memory, and in both the processor has to fetch them a second time. Weaker sums are
 * not twice as quick, and then two stretches of bytes could be taken for each other by chance.
 * Where it takes longer, it would hold up connections: then threads do it.
 */

import { hash, webcrypto } from 'node:crypto';

/** Longer than this for 1 MiB would be noticed by the connections that wait meanwhile. */
const MAX_MS_PER_MIB = 2;
/** Segments timed before the processor is called slow: something else may be running. */
const TRIALS = 16;
const MIB = 1024 * 1024;
/** Too short to be timed. */
const MIN_TIMED_BYTES = MIB / 4;

export class SegmentDigest {
  readonly #now: () => number;
  #trials = 0;
  #bestMsPerMib = Number.POSITIVE_INFINITY;

  /** @param now monotonic milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** True once it has turned out that hashing takes too long to be waited for. */
  get slow(): boolean {
    return this.#trials >= TRIALS && this.#bestMsPerMib > MAX_MS_PER_MIB;
  }

  /**
   * @param bytes must not change until this resolves
   * @returns hexadecimal
   */
  async of(bytes: Buffer): Promise<string> {
    if (this.slow) {
      const digest = await webcrypto.subtle.digest('SHA-256', bytes as Buffer<ArrayBuffer>);
      return Buffer.from(digest).toString('hex');
    }
    const startedAt = this.#now();
    const digest = hash('sha256', bytes);
    if (bytes.length >= MIN_TIMED_BYTES) {
      const msPerMib = ((this.#now() - startedAt) * MIB) / bytes.length;
      this.#bestMsPerMib = Math.min(this.#bestMsPerMib, msPerMib);
      this.#trials++;
    }
    return digest;
  }
}
