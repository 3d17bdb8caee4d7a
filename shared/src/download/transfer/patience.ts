/**
 * The patience of a transfer without incoming bytes: it ends when waiting for a source would be
 * pointless, or when other downloads should have its turn.
 */

import type { Millis } from '../../base/clock.ts';

export interface PatienceOptions {
  /** Longest time without a single new byte from any source; undefined: for ever. */
  readonly retryForMs?: Millis | undefined;
  /** Longest time with no request under way; undefined: as long as `retryForMs`. */
  readonly yieldsAfterMs?: Millis | undefined;
}

export class Patience {
  readonly #retryForMs: Millis;
  readonly #yieldsAfterMs: Millis;
  #lastBytesAt: Millis;
  /** First call of `waitsUntil` since the last byte: no request was under way then. */
  #idleSince: Millis | undefined;

  constructor({ retryForMs = Infinity, yieldsAfterMs = Infinity }: PatienceOptions, now: Millis) {
    this.#retryForMs = retryForMs;
    this.#yieldsAfterMs = yieldsAfterMs;
    this.#lastBytesAt = now;
  }

  /** Notes that bytes have come that were not stored before. */
  onBytes(now: Millis): void {
    this.#lastBytesAt = now;
    this.#idleSince = undefined;
  }

  /**
   * Decides whether to wait for a source while no request is under way. A server may demand a wait
   * of hours (Retry-After), which is refused if the patience ends before.
   *
   * Call it whenever no request is under way: the first call starts the clock of `yieldsAfterMs`.
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
