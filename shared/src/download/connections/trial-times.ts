/** When trials of more and of fewer connections are due. */

import type { Millis } from '../../base/clock.ts';

/**
 * Wait before the first trial of fewer connections, and before one where more have helped, in
 * milliseconds: on a long line, the connections that stay need seconds to fill it again.
 */
const FIRST_DOWN_MS = 10_000;
const NEEDED_MS = 15_000;
/** Shortest and longest wait after a trial that changed nothing; it doubles each time. */
const LEAST_WAIT_MS = 5000;
const MOST_WAIT_MS = 60_000;

export class TrialTimes {
  #upAt: Millis;
  #downAt: Millis;
  #upWaitMs: Millis = LEAST_WAIT_MS;
  #downWaitMs: Millis = LEAST_WAIT_MS;

  constructor(now: Millis) {
    this.#upAt = now;
    this.#downAt = now + FIRST_DOWN_MS;
  }

  /** Returns true if more connections may be tried. */
  mayRise(now: Millis): boolean {
    return now >= this.#upAt;
  }

  /** Returns true if fewer connections may be tried. */
  mayFall(now: Millis): boolean {
    return now >= this.#downAt;
  }

  /** Several connections are being tried: more may follow at once. */
  onSeveral(now: Millis): void {
    this.#upAt = now;
  }

  /** One connection fills the line: more are not tried for a while. */
  onOneIsEnough(now: Millis): void {
    this.#upAt = now + NEEDED_MS;
  }

  /** The first rise has ended with connections that brought no more. */
  onUselessRise(now: Millis): void {
    this.#upAt = now + this.#upWaitMs;
  }

  /** More connections have helped, and are kept. */
  onMoreKept(now: Millis): void {
    this.#upAt = now;
    this.#upWaitMs = LEAST_WAIT_MS;
    this.#downAt = now + NEEDED_MS;
  }

  /** More connections have not helped. */
  onMoreDropped(now: Millis): void {
    this.#upAt = now + this.#upWaitMs;
    this.#upWaitMs = Math.min(MOST_WAIT_MS, 2 * this.#upWaitMs);
  }

  /** Fewer connections have cost nothing, and are kept. */
  onFewerKept(now: Millis): void {
    this.#downAt = now;
    this.#downWaitMs = LEAST_WAIT_MS;
    this.#upAt = Math.max(this.#upAt, now + this.#upWaitMs);
  }

  /** Fewer connections have cost too much. */
  onFewerDropped(now: Millis): void {
    this.#downAt = now + this.#downWaitMs;
    this.#downWaitMs = Math.min(MOST_WAIT_MS, 2 * this.#downWaitMs);
  }
}
