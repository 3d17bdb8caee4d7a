/**
 * Decides when to ask a link for its edges (RFC 6762 5.2): soon after the start, then at doubling
 * intervals, and before announcements run out.
 */

import type { Millis, Random } from '../base/clock.ts';

/** Delay of the first question: machines that start together must not ask at one moment. */
const FIRST_MS = { least: 20, most: 120 };
const SECOND_MS = 1000;
const LONGEST_MS = 3600_000;
/** Random part by which a repeated question comes later. */
const JITTER = 0.02;

export class QueryTimes {
  readonly #random: Random;
  #intervalMs = SECOND_MS;
  #at: Millis;

  /** @param now monotonic milliseconds, as in all other calls */
  constructor(random: Random, now: Millis) {
    this.#random = random;
    this.#at = this.#first(now);
  }

  /** Begins anew: another link is there, whose edges nobody has asked for. */
  restart(now: Millis): void {
    this.#intervalMs = SECOND_MS;
    this.#at = this.#first(now);
  }

  /** Notes a question. */
  onQueried(now: Millis): void {
    if (now < this.#at) return; // it was asked for an announcement that runs out
    this.#at = now + this.#intervalMs * (1 + JITTER * this.#random());
    this.#intervalMs = Math.min(LONGEST_MS, this.#intervalMs * 2);
  }

  /** Returns the time of the next question. @param refreshAt when an announcement runs out */
  nextAt(refreshAt: Millis | undefined): Millis {
    return Math.min(this.#at, refreshAt ?? Infinity);
  }

  #first(now: Millis): Millis {
    const { least, most } = FIRST_MS;
    return now + least + (most - least) * this.#random();
  }
}
