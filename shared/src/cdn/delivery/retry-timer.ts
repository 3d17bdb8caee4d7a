/**
 * When a chunk counts as late (NSDI 3.3; WORLDS 3; LOGIN): the smoothed time of recent chunks plus
 * a multiple of its deviation, doubled with every retry of the same chunk.
 */

import type { Millis } from '../../base/clock.ts';
import { Estimate } from '../../base/estimate.ts';

/** Timeout before any chunk has come (NSDI 3.3: generous, so as not to overload slow origins). */
export const FIRST_CHUNK_TIMEOUT_MS = 3000;
/** Shortest timeout: with less, chance alone would cause retries. */
export const MIN_TIMEOUT_MS = 500;
/**
 * Shortest timeout of a request to an origin. A competing request goes to the same busy origin: it
 * helps if a connection hangs, and hardly otherwise. In a crowd this node itself may read late.
 */
export const MIN_ORIGIN_TIMEOUT_MS = 2000;
/** Longest time to wait for a chunk that makes no progress (NSDI 3.3). */
export const MAX_TIMEOUT_MS = 10_000;
/** Most attempts at one chunk after the first (NSDI 3.3). */
export const MAX_BACKOFFS = 10;

const DEVIATIONS = 4;
/** Share by which the slowest chunk is forgotten with each further one. */
const FORGOTTEN = 1 / 128;

export class RetryTimer {
  readonly #times = new Estimate();
  /** Time of the slowest chunk lately: that of an earlier one approaches the mean. */
  #slowest: Millis = 0;

  /** Mean time of a chunk so far in milliseconds; 0 before the first. */
  get meanMs(): number {
    return this.#times.mean;
  }

  /**
   * How long a chunk takes at most, as far as can be told: most come within the estimate, and single
   * ones take many times as long (WORLDS 4.1), so the slowest lately counts too. Undefined before the
   * first chunk.
   */
  get forecastMs(): Millis | undefined {
    if (this.#times.samples === 0) return undefined;
    return Math.max(this.#estimateMs, this.#slowest);
  }

  /** Usual time of a chunk, its deviation included. */
  get #estimateMs(): Millis {
    return this.#times.mean + DEVIATIONS * this.#times.deviation;
  }

  /**
   * Records that a chunk came `elapsed` milliseconds after its request.
   *
   * @returns true when that was less than the average so far, or the chunk was the first
   */
  onChunk(elapsed: Millis): boolean {
    const fast = this.#times.samples === 0 || elapsed < this.#times.mean;
    this.#times.add(elapsed);
    const { mean } = this.#times;
    this.#slowest = Math.max(elapsed, mean + (this.#slowest - mean) * (1 - FORGOTTEN));
    return fast;
  }

  /**
   * Returns how long to wait for the given attempt at a chunk before another is started.
   *
   * The paper's hard limit of 10 s fits chunks of 60 KB. With chunks of 512 KiB a slow but honest
   * origin may need longer, so the limit gives way if the average itself is above half of it. The
   * caller's stall limit ends an attempt that makes no progress.
   *
   * @param attempt 0 for the first
   */
  timeoutMs(attempt: number): Millis {
    const t = this.#times;
    const estimate = t.samples === 0 ? FIRST_CHUNK_TIMEOUT_MS : this.#estimateMs;
    const limit = Math.max(MAX_TIMEOUT_MS, 2 * t.mean);
    return Math.min(limit, Math.max(MIN_TIMEOUT_MS, estimate) * 2 ** attempt);
  }
}
