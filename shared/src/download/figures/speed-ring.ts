/** Keeps the speed over the last ten minutes, one sample a second. */

import type { Millis } from '../../base/clock.ts';

export const STEP_MS = 1000;
export const MAX_SAMPLES = 600;

export interface Samples {
  /** When the last sample was taken; 0: there is none. */
  readonly endsAt: Millis;
  readonly stepMs: Millis;
  /** Oldest first. */
  readonly bytesPerSecond: readonly number[];
}

export class SpeedRing {
  readonly #samples = new Float64Array(MAX_SAMPLES);
  /** Number of samples taken so far. */
  #count = 0;
  #endsAt: Millis = 0;

  /** Number of samples taken so far, to pass to `since` later. */
  get count(): number {
    return this.#count;
  }

  /**
   * Adds a sample. Seconds without a sample since the last one count as 0 bytes.
   *
   * @param at Unix milliseconds; if the clock was set back, samples continue from its new time
   */
  add(bytesPerSecond: number, at: Millis): void {
    const missed = this.#count === 0 ? 0 : Math.round((at - this.#endsAt) / STEP_MS) - 1;
    for (let i = Math.min(MAX_SAMPLES, missed); i > 0; i--) this.#push(0);
    this.#push(Math.round(bytesPerSecond));
    this.#endsAt = at;
  }

  /** Returns newer samples. @param count `count` at the caller's last call; 0: ten minutes */
  since(count = 0): Samples {
    const first = Math.max(count, this.#count - MAX_SAMPLES);
    const length = Math.max(0, this.#count - first);
    const bytesPerSecond = Array.from(
      { length },
      (_, i) => this.#samples[(first + i) % MAX_SAMPLES] as number,
    );
    return { endsAt: this.#endsAt, stepMs: STEP_MS, bytesPerSecond };
  }

  #push(value: number): void {
    this.#samples[this.#count++ % MAX_SAMPLES] = value;
  }
}
