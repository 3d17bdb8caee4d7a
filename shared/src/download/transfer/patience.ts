/**
 * How long a transfer goes on where nothing comes: until it would be in vain to wait for a source, or
 * until others are to have its turn.
 */

import type { Millis } from '../../base/clock.ts';

/** Edges from which nothing has come for so long get help from the origin. */
const LIFELESS_MS = 3000;

export interface PatienceOptions {
  /** How long to go on without a single byte from anywhere; undefined: for ever. */
  readonly retryForMs?: Millis | undefined;
  /** How long to go on with no request under way; undefined: as long as `retryForMs`. */
  readonly yieldsAfterMs?: Millis | undefined;
}

export class Patience {
  readonly #retryForMs: Millis;
  readonly #yieldsAfterMs: Millis;
  #lastBytesAt: Millis;
  /** When, since the last byte came, no request was under way for the first time. */
  #idleSince: Millis | undefined;

  constructor({ retryForMs = Infinity, yieldsAfterMs = Infinity }: PatienceOptions, now: Millis) {
    this.#retryForMs = retryForMs;
    this.#yieldsAfterMs = yieldsAfterMs;
    this.#lastBytesAt = now;
  }

  onBytes(now: Millis): void {
    this.#lastBytesAt = now;
    this.#idleSince = undefined;
  }

  /** True if no byte has come for so long that every source should help. */
  isLifeless(now: Millis): boolean {
    return now - this.#lastBytesAt > LIFELESS_MS;
  }

  /**
   * Whether to wait, while no request is under way. A server may ask for hours of patience
   * (Retry-After): nobody is kept waiting in vain.
   *
   * @param usableAt when a source can be asked again; undefined: never
   */
  waitsUntil(usableAt: Millis | undefined, now: Millis): boolean {
    this.#idleSince ??= now;
    const giveUpAt = Math.min(
      this.#lastBytesAt + this.#retryForMs,
      this.#idleSince + this.#yieldsAfterMs,
    );
    return usableAt !== undefined && now < giveUpAt && usableAt <= giveUpAt;
  }
}
