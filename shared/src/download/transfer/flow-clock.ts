/** A clock that stands still while a client holds its sources back (a rate limit, a full disk). */

import type { Millis } from '../../base/clock.ts';

export class FlowClock {
  /** Reads that wait. */
  #holding = 0;
  /** When they began to wait, and for how long reads have waited before. */
  #since: Millis = 0;
  #heldMs: Millis = 0;

  /** True while the client holds its sources back. */
  get isHeld(): boolean {
    return this.#holding > 0;
  }

  /** Translates a time of the running clock that is not earlier than those given before. */
  at(now: Millis): Millis {
    return (this.isHeld ? this.#since : now) - this.#heldMs;
  }

  /** Notes that one more read waits. */
  hold(now: Millis): void {
    if (this.#holding++ === 0) this.#since = now;
  }

  /** Notes that one of the reads no longer waits. */
  release(now: Millis): void {
    if (--this.#holding === 0) this.#heldMs += now - this.#since;
  }
}
