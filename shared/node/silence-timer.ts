/**
 * Says when somebody has been silent for too long. A process that was itself kept from running finds
 * its timers due before it has read what came meanwhile: that is read first, so that nobody else is
 * blamed for it.
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

  /** There was a sign of life: the time begins anew. */
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
