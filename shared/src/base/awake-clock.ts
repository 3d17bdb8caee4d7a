/**
 * A monotonic clock that stands still while this process does: swapped out, stopped, or busy with
 * one long turn of its event loop. Messages that arrive in the meantime lie unread, so that time
 * says nothing about their senders, and timeouts measured with this clock do not blame them.
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

  /** Advances the clock. Call it at intervals from the event loop whose pauses do not count. */
  tick(now: Millis): void {
    this.#heldUpMs += Math.max(0, now - this.#tickedAt - this.#maxStepMs);
    this.#tickedAt = now;
  }

  /** Milliseconds awake; never goes back. */
  read(now: Millis): Millis {
    return Math.min(now, this.#tickedAt + this.#maxStepMs) - this.#heldUpMs;
  }
}
