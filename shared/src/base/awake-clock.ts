/**
 * A monotonic clock that stands still while this process does: swapped out, stopped, or busy with
 * one long turn of its event loop. Messages that arrive meanwhile wait unread, so that time says
 * nothing about their senders. Timeouts measured with this clock never blame them for it.
 */

import type { Millis } from './clock.ts';

export class AwakeClock {
  readonly #maxStepMs: Millis;
  #tickedAt: Millis;
  #heldUpMs: Millis = 0;

  /**
   * @param now monotonic milliseconds
   * @param maxStepMs longest time between ticks that counts: a few times the tick's interval,
   *   since a busy loop ticks late without standing still
   */
  constructor(now: Millis, maxStepMs: Millis) {
    this.#tickedAt = now;
    this.#maxStepMs = maxStepMs;
  }

  /** Call this at intervals, from the event loop whose standstills are not to count. */
  tick(now: Millis): void {
    this.#heldUpMs += Math.max(0, now - this.#tickedAt - this.#maxStepMs);
    this.#tickedAt = now;
  }

  /** Returns the milliseconds spent awake; never goes back. */
  read(now: Millis): Millis {
    return Math.min(now, this.#tickedAt + this.#maxStepMs) - this.#heldUpMs;
  }
}
