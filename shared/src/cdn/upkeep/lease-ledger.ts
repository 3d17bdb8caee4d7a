/**
 * Keeps the account of leases: how many bytes each owner and all of them together are charged, and
 * which lease ends next (LOCI 2.1, the time-limited allocations of IBP). It holds numbers only; the
 * things that are leased are kept by its users. Each call changes the account at once, so that
 * requests that come at the same time cannot exceed a limit together.
 */

import type { Millis } from '../../base/clock.ts';

/** One lease, and its charge. */
export interface Lease {
  readonly id: string;
  readonly owner: string;
  /** Bytes charged, a whole number. */
  readonly bytes: number;
  /** Unix milliseconds. */
  readonly expiresAt: Millis;
}

/** Limits of all leases of one owner. */
export interface Allowance {
  readonly bytes: number;
  readonly leases: number;
}

/** Limit that a lease would exceed, with what is left of it. */
export interface Refusal {
  readonly limit: 'quota' | 'leases' | 'owner-bytes' | 'owner-leases';
  readonly left: number;
}

export interface LeaseLedgerOptions {
  /** Bytes that all leases together may be charged. */
  readonly quotaBytes: number;
  /** Most leases at a time. */
  readonly maxLeases: number;
}

/** Charge of one owner. */
interface Account {
  readonly owner: string;
  bytes: number;
  leases: number;
}

/**
 * A lease until it is released or has another end; stale from then on. There may be a million, so that
 * the map and the heap share these.
 */
interface Entry {
  readonly id: string;
  readonly account: Account;
  bytes: number;
  readonly expiresAt: Millis;
}

const NO_LIMIT: Allowance = { bytes: Infinity, leases: Infinity };
/** Stale ends in the heap, beyond twice the number of leases, before it is built anew. */
const SPARE_ENDS = 64;

export class LeaseLedger {
  readonly #options: LeaseLedgerOptions;
  readonly #leases = new Map<string, Entry>();
  readonly #owners = new Map<string, Account>();
  /** Binary heap: each ends at most as late as the two below it. */
  #ends: Entry[] = [];
  #usedBytes = 0;

  constructor(options: LeaseLedgerOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#leases.size;
  }

  /** Bytes charged for all leases. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  get quotaBytes(): number {
    return this.#options.quotaBytes;
  }

  /** Returns what an owner is charged. */
  used(owner: string): { readonly bytes: number; readonly leases: number } {
    const { bytes, leases } = this.#owners.get(owner) ?? { bytes: 0, leases: 0 };
    return { bytes, leases };
  }

  get(id: string): Lease | undefined {
    const entry = this.#leases.get(id);
    if (entry === undefined) return undefined;
    const { account, bytes, expiresAt } = entry;
    return { id, owner: account.owner, bytes, expiresAt };
  }

  /**
   * Charges a new lease.
   *
   * @param lease its id is not in use
   * @returns the limit that it would exceed: then nothing has changed
   */
  reserve(lease: Lease, allowance: Allowance = NO_LIMIT): Refusal | undefined {
    const { maxLeases } = this.#options;
    const used = this.used(lease.owner);
    const refusal = this.#refusal(lease.owner, lease.bytes, allowance);
    if (refusal !== undefined) return refusal;
    if (this.count >= maxLeases) return { limit: 'leases', left: 0 };
    if (used.leases >= allowance.leases) return { limit: 'owner-leases', left: 0 };
    this.restore(lease);
    return undefined;
  }

  /** Charges a lease of an earlier run, even beyond the present limits: it was promised. */
  restore({ id, owner, bytes, expiresAt }: Lease): void {
    this.release(id);
    let account = this.#owners.get(owner);
    if (account === undefined) {
      account = { owner, bytes: 0, leases: 0 };
      this.#owners.set(owner, account);
    }
    const entry = { id, account, bytes, expiresAt };
    this.#leases.set(id, entry);
    this.#add(account, bytes, 1);
    this.#push(entry);
  }

  /**
   * Changes the charge of a lease; a smaller one is never refused.
   *
   * @param id of a lease, otherwise nothing happens
   * @returns the limit that it would exceed: then nothing has changed
   */
  charge(id: string, bytes: number, allowance: Allowance = NO_LIMIT): Refusal | undefined {
    const entry = this.#leases.get(id);
    if (entry === undefined) return undefined;
    const more = bytes - entry.bytes;
    const refusal = more > 0 ? this.#refusal(entry.account.owner, more, allowance) : undefined;
    if (refusal !== undefined) return refusal;
    entry.bytes = bytes;
    this.#add(entry.account, more, 0);
    return undefined;
  }

  /** Gives a lease another end, later or sooner. */
  extend(id: string, expiresAt: Millis): void {
    const entry = this.#leases.get(id);
    if (entry === undefined || entry.expiresAt === expiresAt) return;
    const changed = { ...entry, expiresAt };
    this.#leases.set(id, changed);
    this.#push(changed);
  }

  /** Ends a lease. @returns false if there is none */
  release(id: string): boolean {
    const entry = this.#leases.get(id);
    if (entry === undefined) return false;
    this.#leases.delete(id);
    this.#add(entry.account, -entry.bytes, -1);
    return true;
  }

  /** Releases all leases that are over. @returns their ids, the earliest end first */
  expire(now: Millis): string[] {
    const over: string[] = [];
    for (let first = this.#first(); first && first.expiresAt <= now; first = this.#first()) {
      this.#pop();
      this.release(first.id);
      over.push(first.id);
    }
    return over;
  }

  /** When the next lease ends; undefined without leases. */
  get nextEnd(): Millis | undefined {
    return this.#first()?.expiresAt;
  }

  /** Returns the limit that further bytes of an owner would exceed. */
  #refusal(owner: string, bytes: number, allowance: Allowance): Refusal | undefined {
    const left = Math.max(0, this.#options.quotaBytes - this.#usedBytes);
    if (bytes > left) return { limit: 'quota', left };
    const own = Math.max(0, allowance.bytes - this.used(owner).bytes);
    return bytes > own ? { limit: 'owner-bytes', left: own } : undefined;
  }

  #add(account: Account, bytes: number, leases: number): void {
    this.#usedBytes += bytes;
    account.bytes += bytes;
    account.leases += leases;
    if (account.leases === 0) this.#owners.delete(account.owner);
  }

  /** Returns the lease that ends first. */
  #first(): Entry | undefined {
    for (let [first] = this.#ends; first !== undefined; [first] = this.#ends) {
      if (this.#leases.get(first.id) === first) return first;
      this.#pop();
    }
    return undefined;
  }

  #push(end: Entry): void {
    if (this.#ends.length > 2 * this.count + SPARE_ENDS) {
      // Sorted by time, an array is a heap.
      this.#ends = [...this.#leases.values()].sort((a, b) => a.expiresAt - b.expiresAt);
      return;
    }
    const ends = this.#ends;
    let i = ends.length;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      const above = ends[parent] as Entry;
      if (above.expiresAt <= end.expiresAt) break;
      ends[i] = above;
      i = parent;
    }
    ends[i] = end;
  }

  #pop(): void {
    const ends = this.#ends;
    const last = ends.pop();
    if (last === undefined || ends.length === 0) return;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      const [left, right] = [ends[child], ends[child + 1]];
      if (left === undefined) break;
      if (right !== undefined && right.expiresAt < left.expiresAt) child++;
      const below = ends[child] as Entry;
      if (last.expiresAt <= below.expiresAt) break;
      ends[i] = below;
      i = child;
    }
    ends[i] = last;
  }
}
