/**
 * Reports when a peer has been silent for too long. In a process that was itself blocked, timers
 * come due before the bytes that arrived meanwhile are read. Those bytes are read before the
 * silence is reported, so that the peer is not blamed.
 */

import type { Millis } from '../src/base/clock.ts';

export class SilenceTimer {
  readonly #ms: Millis;
  readonly #onSilent: () => void;
  #timer: NodeJS.Timeout | undefined;

  /** Starts the timer. @param onSilent called once per `ms` of silence; never after `stop` */
  constructor(ms: Millis, onSilent: () => void) {
    this.#ms = ms;
    this.#onSilent = onSilent;
    this.#wait();
  }

  /** Restarts the timer after a sign of life from the peer. */
  heard(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#wait();
  }

  /** Stops the timer for good. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #wait(): void {
    const timer = setTimeout(() => {
      setImmediate(() => {
        if (this.#timer === timer) this.#onSilent();
      });
    }, this.#ms);
    timer.unref();
    this.#timer = timer;
  }
}
