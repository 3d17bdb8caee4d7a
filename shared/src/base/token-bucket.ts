import type { Millis } from './clock.ts';

/**
 * A rate limit: tokens flow in at a steady rate up to a burst, and out as they are taken. Debt is
 * allowed, so that one large item passes and the next one waits for it.
 */
export class TokenBucket {
  readonly #perMs: number;
  readonly #burst: number;
  #tokens: number;
  #at: Millis;

  /**
   * @param ratePerSecond tokens per second, more than 0
   * @param burst most tokens that can be saved up, more than 0
   * @param now the present, milliseconds of the clock that later calls use
   */
  constructor(ratePerSecond: number, burst: number, now: Millis) {
    this.#perMs = ratePerSecond / 1000;
    this.#burst = burst;
    this.#tokens = burst;
    this.#at = now;
  }

  /** Takes `count` tokens, going into debt if need be. */
  take(count: number, now: Millis): void {
    this.#refill(now);
    this.#tokens -= count;
  }

  /** Takes one token if there is one; false otherwise. */
  tryTake(now: Millis): boolean {
    this.#refill(now);
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  /** Returns the milliseconds until at least `count` tokens are there (0: now). */
  waitMs(now: Millis, count = 0): Millis {
    this.#refill(now);
    return this.#tokens >= count ? 0 : Math.ceil((count - this.#tokens) / this.#perMs);
  }

  /** Returns true once everything taken has flowed back: the bucket is as good as new. */
  full(now: Millis): boolean {
    this.#refill(now);
    return this.#tokens >= this.#burst;
  }

  #refill(now: Millis): void {
    // A clock that jumps back must not take tokens away.
    const elapsed = Math.max(0, now - this.#at);
    this.#at = now;
    this.#tokens = Math.min(this.#burst, this.#tokens + elapsed * this.#perMs);
  }
}
