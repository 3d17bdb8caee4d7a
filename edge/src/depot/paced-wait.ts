/** Waits for the pieces of a body that has to come at a least pace. */

import type { Millis } from '@millrace/shared/base/clock';
import { LeastPace } from '@millrace/shared/cdn/clients/least-pace';
import { LEAST_PACE, PACE_PAUSE_MS } from './append.ts';

/** Detail of the error of a body that came too slowly. */
export const TOO_SLOW = `less than ${LEAST_PACE / 1024} KiB/s came`;

export class PacedWait {
  readonly #now: () => Millis;
  readonly #pace = new LeastPace(LEAST_PACE, PACE_PAUSE_MS);
  /** Since when the next piece is waited for. */
  #begunAt: Millis = 0;
  /** Ends the wait, if there is one. */
  #wake: (() => void) | undefined;
  /** Runs while bytes are waited for, and a little longer: each new one would cost as much again. */
  #timer: NodeJS.Timeout | undefined;
  /** When the sender will have been too slow, unless bytes come. */
  #lateAt: Millis = 0;

  /** @param now monotonic milliseconds */
  constructor(now: () => Millis) {
    this.#now = now;
  }

  /** From now on the next piece is waited for. */
  begin(): void {
    this.#begunAt = this.#now();
  }

  /** Counts a piece that has come. */
  came(bytes: number): void {
    this.#pace.came(bytes, this.#now() - this.#begunAt);
  }

  /**
   * Waits until `wake` is called, or the sender has been too slow. What has come meanwhile is to be
   * read before the next call.
   *
   * @returns false, at once, if the sender has been too slow
   */
  async more(): Promise<boolean> {
    const leftMs = this.#begunAt + this.#pace.leftMs - this.#now();
    if (leftMs <= 0) return false;
    this.#lateAt = this.#now() + leftMs;
    this.#timer ??= setTimeout(() => this.#onTimer(), leftMs);
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    this.#wake = undefined;
    return true;
  }

  /** Ends the wait: there may be something to read, or there will never be. */
  wake(): void {
    this.#wake?.();
  }

  /** Ends the timer: nobody will wait again. */
  end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Looks whether the sender is too slow, or when it will be. */
  #onTimer(): void {
    this.#timer = undefined;
    if (this.#wake === undefined) return;
    const leftMs = this.#lateAt - this.#now();
    if (leftMs > 0) this.#timer = setTimeout(() => this.#onTimer(), leftMs);
    else this.#wake();
  }
}
