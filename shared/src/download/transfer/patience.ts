/**
 * The patience of a transfer without incoming bytes: it ends when waiting for a source would be
 * pointless, or when other downloads should have its turn.
 */

import type { Millis } from '../../base/clock.ts';

/** Time without enough bytes of edges after which the origin helps them. */
const LIFELESS_MS = 3000;
/** Bytes that show life: edges that drip would keep the origin from helping otherwise. */
const LIVELY_BYTES = 4096;

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
  /** When bytes last showed life in edges or mirrors, and the bytes since then. */
  #livelyAt: Millis;
  #bytes = 0;
  /** First call of `waitsUntil` since the last byte: no request was under way then. */
  #idleSince: Millis | undefined;

  constructor({ retryForMs = Infinity, yieldsAfterMs = Infinity }: PatienceOptions, now: Millis) {
    this.#retryForMs = retryForMs;
    this.#yieldsAfterMs = yieldsAfterMs;
    this.#lastBytesAt = now;
    this.#livelyAt = now;
  }

  /** Notes that `count` bytes have come. @param isHelp true if they are of the origin */
  onBytes(count: number, now: Millis, isHelp = false): void {
    this.#lastBytesAt = now;
    this.#idleSince = undefined;
    // The help shows no life in those that are helped.
    if (isHelp) return;
    this.#bytes += count;
    if (this.#bytes < LIVELY_BYTES) return;
    this.#livelyAt = now;
    this.#bytes = 0;
  }

  /** Returns true if next to nothing has come for so long that the origin should help its edges. */
  isLifeless(now: Millis): boolean {
    return now - this.#livelyAt > LIFELESS_MS;
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
