/**
 * When a chunk counts as late (NSDI 3.3; WORLDS 3; LOGIN): the smoothed time of recent chunks plus
 * a multiple of its deviation, doubled with every retry of the same chunk.
 */

import type { Millis } from '../../base/clock.ts';
import { Estimate } from '../../base/estimate.ts';

/** Before any chunk has come (NSDI 3.3: generous, so as not to overload slow origins). */
export const FIRST_CHUNK_TIMEOUT_MS = 3000;
/** Shortest timeout: below this, chance alone would cause retries. */
export const MIN_TIMEOUT_MS = 500;
/**
 * A competing request goes to the same origin, which is as busy for it: it helps where a connection
 * hangs, and hardly elsewhere. In a crowd this node itself may not get round to reading for a
 * while.
 */
export const MIN_ORIGIN_TIMEOUT_MS = 2000;
/** Longest time to wait for a chunk that makes no progress (NSDI 3.3). */
export const MAX_TIMEOUT_MS = 10_000;
/** Attempts at one chunk after the first (NSDI 3.3). */
export const MAX_BACKOFFS = 10;

const DEVIATIONS = 4;

export class RetryTimer {
  readonly #times = new Estimate();

  /** Mean time of a chunk so far in milliseconds; 0 before the first. */
  get meanMs(): number {
    return this.#times.mean;
  }

  /**
   * A chunk came `elapsed` milliseconds after it was asked for.
   *
   * @returns true when that was less than the average so far, or the first at all
   */
  onChunk(elapsed: Millis): boolean {
    const fast = this.#times.samples === 0 || elapsed < this.#times.mean;
    this.#times.add(elapsed);
    return fast;
  }

  /**
   * How long to wait for the given attempt at a chunk before another is started.
   *
   * The paper's hard limit of 10 s fits chunks of 60 KB. With chunks of 512 KiB a slow but honest
   * origin may need longer, so the limit gives way where the average itself is above half of it;
   * the caller's stall limit cuts off an attempt without any progress.
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
