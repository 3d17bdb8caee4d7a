/** Slows down guessing at a secret: after a few wrong guesses, each further one waits longer. */

import type { Millis } from './clock.ts';

/** Wrong guesses that cost nothing: people mistype. */
const FREE = 3;
const FIRST_WAIT_MS = 1000;
/** Longest time that wrong guesses of other clients delay a caller who knows the secret. */
const MAX_WAIT_MS = 8000;
/** Time without a wrong guess after which earlier ones are forgotten. */
const FORGET_MS = 600_000;

export class GuessLimit {
  #wrong = 0;
  #wrongAt: Millis = 0;
  #nextAt: Millis = 0;

  /** Returns the milliseconds until the next guess is allowed; 0: now. */
  waitMs(now: Millis): Millis {
    return Math.max(0, this.#nextAt - now);
  }

  onWrong(now: Millis): void {
    if (now - this.#wrongAt > FORGET_MS) this.#wrong = 0;
    this.#wrongAt = now;
    if (++this.#wrong <= FREE) return;
    this.#nextAt = now + Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** (this.#wrong - FREE - 1));
  }

  onRight(): void {
    this.#wrong = 0;
  }
}
