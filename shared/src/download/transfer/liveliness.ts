/** Tells sources that bring bytes from sources of which only single bytes drip. */

import type { Millis } from '../../base/clock.ts';

/** Time without enough bytes after which there is no life. */
const LIFELESS_MS = 3000;
/** Bytes that show life within that time, so that single ones do not. */
const LIVELY_BYTES = 4096;

export class Liveliness {
  /** When the bytes last sufficed, and the bytes since then. */
  #livelyAt: Millis;
  #bytes = 0;
  /** Since when nothing has been asked for; undefined while something is. */
  #pausedAt: Millis | undefined;

  /** @param now on a clock that stands still while the client holds its sources back */
  constructor(now: Millis) {
    this.#livelyAt = now;
  }

  /** Notes that `count` bytes have come. */
  onBytes(count: number, now: Millis): void {
    this.#bytes += count;
    if (this.#bytes < LIVELY_BYTES) return;
    this.#livelyAt = now;
    this.#bytes = 0;
  }

  /** Notes that nothing is asked for: time does not count until `resume`. */
  pause(now: Millis): void {
    this.#pausedAt ??= now;
  }

  resume(now: Millis): void {
    if (this.#pausedAt !== undefined) this.#livelyAt += now - this.#pausedAt;
    this.#pausedAt = undefined;
  }

  /** Returns true if next to nothing has come for some seconds, although it was asked for. */
  isLifeless(now: Millis): boolean {
    return (this.#pausedAt ?? now) - this.#livelyAt > LIFELESS_MS;
  }
}
