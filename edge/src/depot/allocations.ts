/** The allocations of a depot by their ids, and the ids of those whose lease is over. */

import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import type { Capability } from '@millrace/shared/http/urls/depot-link';
import { LRUCache } from 'lru-cache';
import { isProved } from '../policy/proofs.ts';
import type { Allocation } from './allocation.ts';
import type { Proofs } from './secrets.ts';

/** Ended leases whose links are told that they have expired; others are told that there is no file. */
const MAX_EXPIRED = 10_000;

export class Allocations {
  readonly #all = new Map<string, Allocation>();
  readonly #expired = new LRUCache<string, Proofs>({ max: MAX_EXPIRED });

  get count(): number {
    return this.#all.size;
  }

  /** All of them, complete or not. */
  values(): Iterable<Allocation> {
    return this.#all.values();
  }

  get(id: string): Allocation | undefined {
    return this.#all.get(id);
  }

  add(allocation: Allocation): void {
    this.#all.set(allocation.head.id, allocation);
  }

  delete(id: string): void {
    this.#all.delete(id);
  }

  /** Notes that the lease of an allocation is over, which its links are told from now on. */
  onExpired({ head: { id, proofs } }: Allocation): void {
    this.#expired.set(id, proofs);
  }

  /**
   * Finds the allocation of a capability.
   *
   * @param proof SHA-256 of the capability's secret, hexadecimal
   * @param now Unix milliseconds
   * @throws MillraceError `no-such-allocation` for an unknown id and a wrong secret alike;
   *   `allocation-expired`
   */
  find(id: string, kind: Capability, proof: string, now: Millis): Allocation {
    const allocation = this.#all.get(id);
    const proofs = allocation?.head.proofs ?? this.#expired.get(id);
    if (!isProved(proof, proofs?.[kind])) throw new MillraceError('no-such-allocation');
    if (allocation === undefined || allocation.head.expiresAt <= now) {
      throw new MillraceError('allocation-expired');
    }
    return allocation;
  }
}
