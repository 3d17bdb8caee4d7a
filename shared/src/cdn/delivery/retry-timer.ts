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

export class RetryTimer {
  readonly #times = new Estimate();

  /** Mean time of a chunk so far in milliseconds; 0 before the first. */
  get meanMs(): number {
    return this.#times.mean;
  }

  /**
   * Records that a chunk came `elapsed` milliseconds after its request.
   *
   * @returns true when that was less than the average so far, or the chunk was the first
   */
  onChunk(elapsed: Millis): boolean {
    const fast = this.#times.samples === 0 || elapsed < this.#times.mean;
    this.#times.add(elapsed);
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
    const estimate = t.samples === 0 ? FIRST_CHUNK_TIMEOUT_MS : t.mean + DEVIATIONS * t.deviation;
    const limit = Math.max(MAX_TIMEOUT_MS, 2 * t.mean);
    return Math.min(limit, Math.max(MIN_TIMEOUT_MS, estimate) * 2 ** attempt);
  }
}
