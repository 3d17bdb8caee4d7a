/**
 * Decides where SHA-256 of a chunk is computed: in the main thread or in the thread pool.
 *
 * Node hashes in its pool only a copy, which it clears afterwards. The main thread makes and clears
 * it, which takes about half of the time that hashing takes with the processor's instructions for
 * SHA-256. There, hashing at once costs two fifths less in all. Without such instructions hashing takes
 * three times as long, and would hold up transfers.
 */

import type { Millis } from '@millrace/shared/base/clock';

/** Bytes per second from which the main thread hashes. */
const FAST = 1e9;
/** Smallest piece that tells the speed: calls cost as much as few bytes. */
const TELLING_BYTES = 64 * 1024;
/** Largest piece that may hold up the main thread, which takes about 2 ms. */
const MAX_BYTES = 2 * 1024 * 1024;
/** Pieces hashed at first; the quickest one counts, as the system may stop the thread at any time. */
const TRIALS = 8;

export class DigestPlace {
  #trials = 0;
  #fastest = 0;

  /** Returns true if a piece is to be hashed in the main thread. */
  isHere(bytes: number): boolean {
    if (bytes < TELLING_BYTES) return true;
    return bytes <= MAX_BYTES && (this.#trials < TRIALS || this.#fastest >= FAST);
  }

  /** Notes how long a piece took in the main thread. */
  onHashed(bytes: number, ms: Millis): void {
    if (this.#trials >= TRIALS || bytes < TELLING_BYTES) return;
    this.#trials++;
    this.#fastest = Math.max(this.#fastest, (bytes * 1000) / ms);
  }
}
