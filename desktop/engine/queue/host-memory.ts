/**
 * Facts about hosts, shared by all downloads: learned limits, which are kept in the database, and the
 * connections that downloads needed lately, which are not.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { LearnedCounts } from '@millrace/shared/download/connections/learned-counts';
import { type HostLimit, LearnedHostLimits } from '@millrace/shared/download/transfer/host-limits';
import { isStorageError } from '../store/database.ts';
import type { HostStore } from '../store/small-stores.ts';
import type { HostLimits } from './contract.ts';

export class HostMemory implements HostLimits {
  readonly #limits: LearnedHostLimits;
  readonly #counts = new LearnedCounts();
  readonly #store: HostStore;
  readonly #now: () => Millis;

  /** @param now Unix milliseconds, because learned limits outlive the process */
  constructor(store: HostStore, now: () => Millis) {
    this.#store = store;
    this.#now = now;
    this.#limits = new LearnedHostLimits(store.all());
  }

  get known(): readonly HostLimit[] {
    return this.#limits.known;
  }

  limit(host: string): number {
    return this.#limits.limit(host, this.#now());
  }

  /** Returns the time when the host may be asked again (Retry-After), at the earliest `now`. */
  restsUntil(host: string, now: Millis): Millis {
    return this.#limits.restsUntil(host, now);
  }

  onRefused(host: string, active: number, retryAfterMs?: number): void {
    if (this.#limits.onRefused(host, active, this.#now(), retryAfterMs)) this.#keep(host);
  }

  onServed(host: string, active: number): void {
    if (this.#limits.onServed(host, active, this.#now())) this.#keep(host);
  }

  needed(host: string): number | undefined {
    return this.#counts.needed(host, this.#now());
  }

  onNeeded(host: string, count: number): void {
    this.#counts.onNeeded(host, count, this.#now());
  }

  forgetAll(): void {
    this.#limits.forget();
    this.#store.replace([]);
  }

  forget(host: string): void {
    this.#limits.forget(host);
    this.#store.delete(host);
  }

  #keep(host: string): void {
    const entry = this.#limits.get(host);
    try {
      if (entry !== undefined) this.#store.put(entry);
    } catch (error) {
      // The limit stays in memory while the process lives; a full disk must not end a download.
      if (!isStorageError(error)) throw error;
    }
  }
}
