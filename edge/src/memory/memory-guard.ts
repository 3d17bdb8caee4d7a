/**
 * Keeps a process below its limit of memory. Looks at the account several times a second; where it
 * is above the stop, idle connections are closed and the slowest readers are reset until it is
 * below again. New transfers are refused meanwhile, where they are admitted.
 */

import type { Millis } from '@millrace/shared/base/clock';
import type { Log } from '@millrace/shared/base/log';
import type { MemoryAccount, Witness } from '@millrace/shared/cdn/admission/memory-account';

export interface MemoryGuardOptions {
  readonly account: MemoryAccount;
  /** The view of the system and V8 now. */
  readonly witness: () => Witness;
  /** Measures how fast readers take their bytes. */
  readonly observeReaders: () => void;
  /** Forgets that: memory is not short any more. */
  readonly forgetReaders: () => void;
  /**
   * Resets the slowest readers until the given number of bytes is freed. @returns how many were
   * reset
   */
  readonly resetSlowest: (bytes: number) => number;
  /** Closes connections without a request. */
  readonly closeIdle: () => void;
  /** Evicts entries beyond the caches' bounds, and compacts scattered memory. */
  readonly trim: () => void;
  readonly collectGarbage: () => Promise<void>;
  /** Told how large the heap is. */
  readonly boundGarbage: (heapBytes: number) => void;
  readonly log: Log;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
}

/** How often the account is looked at. */
export const LOOK_INTERVAL_MS: Millis = 250;
const OBSERVE_INTERVAL_MS: Millis = 1000;
/** Shortest time between two collections of garbage: each holds the process up. */
const COLLECT_INTERVAL_MS: Millis = 2000;
/**
 * The same where no client was reset in between: transfers that end by themselves leave garbage
 * too.
 */
const REPEAT_INTERVAL_MS: Millis = 10_000;
/** After a collection, until the system has the memory back and says so. */
const SETTLE_MS: Millis = 500;
const COMPLAIN_INTERVAL_MS: Millis = 60_000;

export class MemoryGuard {
  readonly #options: MemoryGuardOptions;
  #observedAt = Number.NEGATIVE_INFINITY;
  #collectedAt = Number.NEGATIVE_INFINITY;
  #complainedAt = Number.NEGATIVE_INFINITY;
  #collecting = false;
  /** Nothing has been reset since the latest collection: resident memory is not garbage. */
  #isClean = false;

  constructor(options: MemoryGuardOptions) {
    this.#options = options;
  }

  /** Checks the account and takes the measures to come below the stop. */
  look(): void {
    const { account, trim, boundGarbage, witness } = this.#options;
    const seen = witness();
    account.observe(seen);
    boundGarbage(seen.heapBytes);
    trim();
    if (!account.isFilling) return this.#options.forgetReaders();
    this.#observe();
    if (account.excess > 0) this.#relieve();
  }

  #observe(): void {
    const { now, observeReaders } = this.#options;
    if (now() - this.#observedAt < OBSERVE_INTERVAL_MS) return;
    this.#observedAt = now();
    observeReaders();
  }

  #relieve(): void {
    const { account, closeIdle, now } = this.#options;
    if (this.#collecting || now() - this.#collectedAt < SETTLE_MS) return;
    closeIdle();
    const charged = account.chargedExcess;
    if (charged > 0) this.#reset(charged);
    if (account.witnessedExcess <= 0) return;
    // Memory that only the system sees may be garbage: reset transfers are resident until they are
    // collected.
    if (!this.#isClean) this.#collect(COLLECT_INTERVAL_MS);
    else if (charged <= 0 && this.#reset(account.witnessedExcess) === 0) {
      this.#collect(REPEAT_INTERVAL_MS);
    }
  }

  /** @returns how many readers were reset */
  #reset(bytes: number): number {
    const reset = this.#options.resetSlowest(bytes);
    if (reset === 0) return 0;
    this.#isClean = false;
    this.#complain(reset);
    return reset;
  }

  /** @param intervalMs shortest time since the latest collection */
  #collect(intervalMs: Millis): void {
    const { now, collectGarbage } = this.#options;
    if (now() - this.#collectedAt < intervalMs) return;
    this.#collecting = true;
    void collectGarbage().finally(() => {
      this.#collecting = false;
      this.#isClean = true;
      this.#collectedAt = now();
    });
  }

  #complain(reset: number): void {
    const { log, now, account } = this.#options;
    if (now() - this.#complainedAt < COMPLAIN_INTERVAL_MS) return;
    this.#complainedAt = now();
    const { limitBytes, chargedBytes, residentBytes } = account.report();
    log.warn(
      { reset, limitBytes, chargedBytes, residentBytes },
      'memory is short: new transfers are refused, and the slowest readers are reset',
    );
  }
}
