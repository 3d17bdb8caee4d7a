/**
 * The patience of a transfer without incoming bytes: it ends when waiting for a source would be
 * pointless, or when other downloads should have its turn.
 */

import type { Millis } from '../../base/clock.ts';

/** Silence of all sources after which the origin helps its edges. */
const LIFELESS_MS = 3000;

export interface PatienceOptions {
  /** Longest time without a single byte from any source; undefined: for ever. */
  readonly retryForMs?: Millis | undefined;
  /** Longest time with no request under way; undefined: as long as `retryForMs`. */
  readonly yieldsAfterMs?: Millis | undefined;
}

export class Patience {
  readonly #retryForMs: Millis;
  readonly #yieldsAfterMs: Millis;
  #lastBytesAt: Millis;
  /** First moment since the last byte with no request under way. */
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
   * Decides whether to wait for a source while no request is under way. A server may demand hours
   * (Retry-After): the user is not kept waiting for nothing.
   *
   * To be called at each such moment: the first one starts the clock of `yieldsAfterMs`.
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
