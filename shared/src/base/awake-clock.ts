/**
 * A monotonic clock that stands still while this process does: swapped out, stopped, or busy with
 * one long turn of its event loop. What others have sent meanwhile waits unread, so that none of
 * that time says anything about them. Timeouts measured with it never blame them for it.
 */

import type { Millis } from './clock.ts';

export class AwakeClock {
  readonly #maxStepMs: Millis;
  #tickedAt: Millis;
  #heldUpMs: Millis = 0;

  /**
   * @param now monotonic milliseconds
   * @param maxStepMs longest time between two ticks that still counts: some times the tick's
   *   interval, since a loop that has much to do ticks late without standing still
   */
  constructor(now: Millis, maxStepMs: Millis) {
    this.#tickedAt = now;
    this.#maxStepMs = maxStepMs;
  }

  /** To be called at intervals, from the event loop whose standing still is not to count. */
  tick(now: Millis): void {
    this.#heldUpMs += Math.max(0, now - this.#tickedAt - this.#maxStepMs);
    this.#tickedAt = now;
  }

  /** Milliseconds awake; never goes back. */
  read(now: Millis): Millis {
    return Math.min(now, this.#tickedAt + this.#maxStepMs) - this.#heldUpMs;
  }
}
