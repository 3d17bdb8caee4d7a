/**
 * Leases of cache room: LOCI's time-limited allocations (LOCI 2.1, the allocations of IBP). A pin
 * says that a file is not to be evicted for a time; it is charged to a quota from its beginning to
 * its end, ends by itself, and can be extended or released by the holder of its capability.
 */

import type { Millis } from '../../base/clock.ts';
import { MillraceError } from '../../base/errors.ts';
import { LeaseLedger } from './lease-ledger.ts';

/** Most pins at a time. */
const MAX_PINS = 1000;

export interface Pin {
  readonly id: string;
  /** Canonical URL. */
  readonly url: string;
  /** Bytes that are charged for it: the most that the file may have. */
  readonly bytes: number;
  /** The version that is pinned now. */
  readonly tag: string;
  readonly length: number;
  /** SHA-256 of the capability, hexadecimal: the capability itself is not kept. */
  readonly proof: string;
  /** Unix milliseconds. */
  readonly expiresAt: Millis;
}

export interface PinLedgerOptions {
  /** Bytes that all pins together may be charged. */
  readonly quotaBytes: number;
  /** Longest time from now to the end of a lease, milliseconds. */
  readonly maxLeaseMs: Millis;
  /** This node's share of a file, 0 to 1, if it is one of several that split all files. */
  readonly share?: number;
  readonly maxPins?: number;
}

/** All pins are charged to one quota. */
const OWNER = 'pins';

export class PinLedger {
  readonly #options: PinLedgerOptions;
  readonly #pins = new Map<string, Pin>();
  readonly #leases: LeaseLedger;

  constructor(options: PinLedgerOptions) {
    const { quotaBytes, maxPins: maxLeases = MAX_PINS } = options;
    this.#options = options;
    this.#leases = new LeaseLedger({ quotaBytes, maxLeases });
  }

  get pins(): readonly Pin[] {
    return [...this.#pins.values()];
  }

  get count(): number {
    return this.#pins.size;
  }

  /** Bytes charged. */
  get usedBytes(): number {
    return this.#leases.usedBytes;
  }

  get quotaBytes(): number {
    return this.#options.quotaBytes;
  }

  get(id: string): Pin | undefined {
    return this.#pins.get(id);
  }

  /**
   * Pins a version of a file. If several holders pin one file, each pin is charged.
   *
   * @param pin `length` is at most `bytes`; the same id again changes nothing
   * @param at when the lease began, if not now
   * @throws MillraceError `pin-refused` if the quota, the number or the time is exceeded
   */
  allocate(pin: Omit<Pin, 'expiresAt'>, forMs: Millis, now: Millis, at: Millis = now): Pin {
    const known = this.#pins.get(pin.id);
    if (known !== undefined) return known;
    if (pin.length > pin.bytes) {
      throw new MillraceError('pin-refused', `the file has ${pin.length} bytes`);
    }
    const added = { ...pin, expiresAt: this.endOf(forMs, at) };
    const refusal = this.#leases.reserve(this.#lease(added));
    if (refusal?.limit === 'quota') {
      throw new MillraceError(
        'pin-refused',
        `${refusal.left} of the ${this.quotaBytes} bytes for pins are free`,
      );
    }
    if (refusal !== undefined) {
      throw new MillraceError('pin-refused', `there are ${this.count} pins already`);
    }
    this.#pins.set(pin.id, added);
    return added;
  }

  /** Restores a pin of an earlier run, even beyond the present quota: it was promised. */
  restore(pin: Pin): void {
    this.#leases.restore(this.#lease(pin));
    this.#pins.set(pin.id, pin);
  }

  /**
   * Gives a lease a new end, later or sooner (IBP lets allocations be refreshed; LOCI 2.3).
   *
   * @param at when that was requested, if not now
   * @throws MillraceError `no-such-entry`; `pin-refused` if the lease is too long
   */
  extend(id: string, forMs: Millis, now: Millis, at: Millis = now): Pin {
    const pin = this.#pins.get(id);
    if (pin === undefined || pin.expiresAt <= now) {
      throw new MillraceError('no-such-entry', 'the pin has ended, or there never was one');
    }
    const extended = { ...pin, expiresAt: this.endOf(forMs, at) };
    this.#leases.extend(id, extended.expiresAt);
    this.#pins.set(id, extended);
    return extended;
  }

  /** Ends a pin. @returns undefined if there is none */
  release(id: string): Pin | undefined {
    const pin = this.#pins.get(id);
    this.#leases.release(id);
    this.#pins.delete(id);
    return pin;
  }

  /** Removes pins whose lease is over. @returns these pins */
  expire(now: Millis): Pin[] {
    const over = this.#leases.expire(now).map((id) => this.#pins.get(id) as Pin);
    for (const { id } of over) this.#pins.delete(id);
    return over;
  }

  /** When the next lease ends. */
  get nextEnd(): Millis | undefined {
    return this.#leases.nextEnd;
  }

  /**
   * Moves the pins of a file to its new current version, if that is not larger than the bytes that
   * they are charged for.
   *
   * @returns the pins that changed, before and after
   */
  follow(url: string, tag: string, length: number): { before: Pin; after: Pin }[] {
    const changed: { before: Pin; after: Pin }[] = [];
    for (const before of this.#pins.values()) {
      if (before.url !== url || before.tag === tag || length > before.bytes) continue;
      const after = { ...before, tag, length };
      this.#pins.set(before.id, after);
      changed.push({ before, after });
    }
    return changed;
  }

  #lease({ id, bytes, expiresAt }: Pin) {
    const charged = Math.ceil(bytes * (this.#options.share ?? 1));
    return { id, owner: OWNER, bytes: charged, expiresAt };
  }

  /**
   * Returns the end of a lease that begins at `at`.
   *
   * @throws MillraceError `pin-refused` if it is too long
   */
  endOf(forMs: Millis, at: Millis): Millis {
    if (forMs > this.#options.maxLeaseMs) {
      const days = Math.floor(this.#options.maxLeaseMs / 86_400_000);
      const most = days >= 1 ? `${days} days` : `${Math.floor(this.#options.maxLeaseMs / 1000)} s`;
      throw new MillraceError('pin-refused', `for at most ${most} at a time`);
    }
    return at + forMs;
  }
}
