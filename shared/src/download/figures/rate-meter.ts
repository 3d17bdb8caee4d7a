/** Measures the speed of a download for display: recent, but steady. */

import type { Millis } from '../../base/clock.ts';

/** Time constant of the average: bytes of this age count for about a third. */
const TIME_CONSTANT_MS = 4000;
/** Shortest interval between two measurements; earlier readings repeat the last one. */
const MIN_INTERVAL_MS = 200;

export class RateMeter {
  #rate = 0;
  #bytes = 0;
  #at: Millis;
  readonly #startedAt: Millis;

  constructor(now: Millis) {
    this.#at = now;
    this.#startedAt = now;
  }

  /** Counts bytes that came in. */
  add(bytes: number): void {
    this.#bytes += bytes;
  }

  /** Returns bytes per second, smoothed over some seconds. */
  bytesPerSecond(now: Millis): number {
    const elapsed = now - this.#at;
    if (elapsed < MIN_INTERVAL_MS) return this.#rate;
    const current = (this.#bytes * 1000) / elapsed;
    // At the beginning, the average covers only the elapsed time, without zeros before it.
    const horizon = Math.min(TIME_CONSTANT_MS, now - this.#startedAt);
    const weight = 1 - Math.exp(-elapsed / horizon);
    this.#rate = this.#rate === 0 ? current : this.#rate + weight * (current - this.#rate);
    this.#bytes = 0;
    this.#at = now;
    return this.#rate;
  }
}
