/**
 * Reports when a peer has been silent for too long. A process that was itself blocked finds its
 * timers due before it has read the bytes that arrived meanwhile: those are read first, so that the
 * peer is not blamed.
 */

import type { Millis } from '../src/base/clock.ts';

export class SilenceTimer {
  readonly #ms: Millis;
  readonly #onSilent: () => void;
  #timer: NodeJS.Timeout | undefined;

  /** Begins to wait. @param onSilent called once, until `heard` is called; never after `stop` */
  constructor(ms: Millis, onSilent: () => void) {
    this.#ms = ms;
    this.#onSilent = onSilent;
    this.#wait();
  }

  /** The peer showed a sign of life: the time starts again. */
  heard(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#wait();
  }

  /** Nothing is waited for any more. */
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
