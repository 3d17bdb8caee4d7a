/**
 * The least pace of a client that sends. It may pause: time spent waiting for it uses up an
 * allowance, which each byte gives back in part. Time in which the receiver is busy does not count.
 */

import type { Millis } from '../../base/clock.ts';

export class LeastPace {
  readonly #msPerByte: number;
  readonly #allowanceMs: Millis;
  #leftMs: Millis;

  /**
   * @param bytesPerSecond least mean pace
   * @param allowanceMs longest pause of a client that has been fast enough
   */
  constructor(bytesPerSecond: number, allowanceMs: Millis) {
    this.#msPerByte = 1000 / bytesPerSecond;
    this.#allowanceMs = allowanceMs;
    this.#leftMs = allowanceMs;
  }

  /** Time for which the client may still pause now; 0: it is too slow. */
  get leftMs(): Millis {
    return this.#leftMs;
  }

  /** Counts bytes that came after a wait. */
  came(bytes: number, waitedMs: Millis): void {
    const left = Math.max(0, this.#leftMs - waitedMs) + bytes * this.#msPerByte;
    this.#leftMs = Math.min(this.#allowanceMs, left);
  }
}
