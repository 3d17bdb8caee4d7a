/**
 * Keeps a process below its limit of memory. Looks at the account several times a second; while it
 * is above the stop, idle connections are closed, waiting transfers of clients with others are
 * refused, and the slowest readers are reset. Admission refuses new transfers meanwhile.
 */

import type { Millis } from '@millrace/shared/base/clock';
import type { Log } from '@millrace/shared/base/log';
import type { MemoryAccount, Witness } from '@millrace/shared/cdn/admission/memory-account';

export interface MemoryGuardOptions {
  readonly account: MemoryAccount;
  /** The view of the system and V8 now. */
  readonly witness: () => Witness;
  /** Measures how fast readers take what they are sent. */
  readonly observeReaders: () => void;
  /** Forgets these measurements, when memory is no longer short. */
  readonly forgetReaders: () => void;
  /** Ends waiting transfers and the slowest readers, which hold `bytes`. @returns their number */
  readonly endTransfers: (bytes: number) => number;
  /** Closes connections without a request. */
  readonly closeIdle: () => void;
  /** Evicts cache entries that have no room, and gathers scattered chunks. */
  readonly trim: () => void;
  readonly collectGarbage: () => Promise<void>;
  /** Called with the size of the heap. */
  readonly boundGarbage: (heapBytes: number) => void;
  readonly log: Log;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
}

/** Interval between looks at the account. */
export const LOOK_INTERVAL_MS: Millis = 250;
const OBSERVE_INTERVAL_MS: Millis = 1000;
/** Shortest time between two collections of garbage: each holds the process up. */
const COLLECT_INTERVAL_MS: Millis = 2000;
/** The same if no transfer was ended in between: those that simply end leave garbage too. */
const REPEAT_INTERVAL_MS: Millis = 10_000;
/** Time after a collection until the system has the memory back and reports it. */
const SETTLE_MS: Millis = 500;
const COMPLAIN_INTERVAL_MS: Millis = 60_000;

export class MemoryGuard {
  readonly #options: MemoryGuardOptions;
  #observedAt = Number.NEGATIVE_INFINITY;
  #collectedAt = Number.NEGATIVE_INFINITY;
  #complainedAt = Number.NEGATIVE_INFINITY;
  #collecting = false;
  /** True if no transfer was ended since the latest collection: resident memory is not garbage. */
  #isClean = false;

  constructor(options: MemoryGuardOptions) {
    this.#options = options;
  }

  /** Looks at the account, and frees memory while it is above the stop. */
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
    if (charged > 0) this.#end(charged);
    if (account.witnessedExcess <= 0) return;
    // Memory that only the system sees may be garbage: ended transfers are resident until they are
    // collected.
    if (!this.#isClean) this.#collect(COLLECT_INTERVAL_MS);
    else if (charged <= 0 && this.#end(account.witnessedExcess) === 0) {
      this.#collect(REPEAT_INTERVAL_MS);
    }
  }

  /** @returns number of transfers that were ended */
  #end(bytes: number): number {
    const ended = this.#options.endTransfers(bytes);
    if (ended === 0) return 0;
    this.#isClean = false;
    this.#complain(ended);
    return ended;
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

  #complain(ended: number): void {
    const { log, now, account } = this.#options;
    if (now() - this.#complainedAt < COMPLAIN_INTERVAL_MS) return;
    this.#complainedAt = now();
    const { limitBytes, chargedBytes, residentBytes } = account.report();
    log.warn(
      { ended, limitBytes, chargedBytes, residentBytes },
      'memory is short: new and waiting transfers are refused, and the slowest readers are reset',
    );
  }
}
