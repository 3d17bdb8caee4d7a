/**
 * Tells when a retry is worthwhile after the network has gone: the machine's addresses have
 * changed, or the machine has slept.
 */

import type { Millis } from '../../base/clock.ts';

/** Result of a look at the machine's network. */
export interface NetworkLook {
  /** Addresses of all interfaces but loopback, in any order. */
  readonly addresses: readonly string[];
  /** Monotonic; some systems let it stand still in sleep, others do not. */
  readonly now: Millis;
  /** Unix time, which continues during sleep. */
  readonly wallNow: Millis;
}

/** Delay that shows sleep: longer than clock corrections and the delays of a busy machine. */
const SLEEP_MS = 15_000;

export class NetworkState {
  #last: NetworkLook;

  constructor(look: NetworkLook) {
    this.#last = look;
  }

  /**
   * Compares a look with the previous one.
   *
   * @param everyMs intended time between this look and the one before
   * @returns the reason to retry; undefined: none
   */
  observe(look: NetworkLook, everyMs: Millis): 'changed' | 'woke' | undefined {
    const before = this.#last;
    this.#last = look;
    const slept = look.wallNow - before.wallNow - everyMs > SLEEP_MS;
    const overslept = look.now - before.now - everyMs > SLEEP_MS;
    // Without an address no retry can succeed.
    const usable = look.addresses.length > 0;
    if (usable && key(look.addresses) !== key(before.addresses)) return 'changed';
    return slept || overslept ? 'woke' : undefined;
  }
}

function key(addresses: readonly string[]): string {
  return [...addresses].sort().join(' ');
}
