/**
 * The pace of a body, measured over the time in which its reader waits for it. The time in which
 * the reader itself takes nothing does not count against the sender.
 */

import type { Millis } from '../base/clock.ts';

export class AwaitedPace {
  readonly #windowMs: Millis;
  readonly #least: number;
  #came = 0;
  #awaitedMs: Millis = 0;
  /** Since when the reader waits; undefined while it takes nothing. */
  #since: Millis | undefined;

  /**
   * @param windowMs awaited time over which the pace is measured, above 0
   * @param bytesPerSecond the least
   * @param now monotonic; the reader waits from here on
   */
  constructor(windowMs: Millis, bytesPerSecond: number, now: Millis) {
    this.#windowMs = windowMs;
    this.#least = (bytesPerSecond * windowMs) / 1000;
    this.#since = now;
  }

  /** Bytes that have to come in each window. */
  get least(): number {
    return this.#least;
  }

  came(bytes: number): void {
    this.#came += bytes;
  }

  /** The reader takes nothing until `resume`. */
  pause(now: Millis): void {
    if (this.#since === undefined) return;
    this.#awaitedMs += now - this.#since;
    this.#since = undefined;
  }

  resume(now: Millis): void {
    this.#since ??= now;
  }

  /**
   * Looks whether a window is over, and begins the next one if so.
   *
   * @returns true if the window is over and too little has come in it
   */
  tooSlow(now: Millis): boolean {
    if (this.awaitedMs(now) < this.#windowMs) return false;
    const slow = this.#came < this.#least;
    this.#came = 0;
    this.#awaitedMs = 0;
    if (this.#since !== undefined) this.#since = now;
    return slow;
  }

  /** Of the window that has begun. */
  awaitedMs(now: Millis): Millis {
    return this.#awaitedMs + (this.#since === undefined ? 0 : now - this.#since);
  }
}
