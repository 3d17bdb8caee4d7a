/**
 * The allocations of a depot by their ids: on its disk and in its account, from their making to their
 * end; and the ids of those whose lease is over.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import type { Log } from '@millrace/shared/base/log';
import { pullAfterRestart } from '@millrace/shared/cdn/depot/pull-record';
import type { LeaseLedger } from '@millrace/shared/cdn/upkeep/lease-ledger';
import type { Capability } from '@millrace/shared/http/urls/depot-link';
import { LRUCache } from 'lru-cache';
import { isProved } from '../policy/proofs.ts';
import { Allocation } from './allocation.ts';
import type { AllocationDisk, Found, Left } from './allocation-disk.ts';
import type { Head } from './heads/head.ts';
import type { Proofs } from './secrets.ts';

/** Ended leases whose links are told that they have expired; others are told that there is no file. */
const MAX_EXPIRED = 10_000;

export interface AllocationsOptions {
  readonly disk: AllocationDisk;
  readonly ledger: LeaseLedger;
  readonly log: Log;
  /** Unix milliseconds. */
  readonly wallClock: () => Millis;
  /** Turns an error of the disk into one for a client. */
  readonly diskError: (error: unknown) => unknown;
}

export class Allocations {
  readonly #options: AllocationsOptions;
  readonly #all = new Map<string, Allocation>();
  readonly #expired = new LRUCache<string, Proofs>({ max: MAX_EXPIRED });
  /** Deletions under way. */
  readonly #deletions = new Set<Promise<void>>();
  readonly #folderOf = (id: string) => this.#options.disk.folderOf(id);

  constructor(options: AllocationsOptions) {
    this.#options = options;
  }

  /**
   * Reads the allocations of former runs, and deletes what they have left besides. Only complete once it
   * has resolved: until then the account lacks some, and an id that is not found may yet be.
   *
   * @param left what the disk lists
   * @param signal ends the reading
   */
  async recover(left: Left, signal: AbortSignal): Promise<void> {
    const { disk, log } = this.#options;
    await disk.recoverAll(left, (found) => this.#restore(found), log, signal);
    if (signal.aborted) return;
    log.info({ count: this.count }, 'the allocations of the depot are known');
    this.#delete(disk.emptyTrash());
    this.collect();
  }

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

  /**
   * Finds the allocation of a capability.
   *
   * @param proof SHA-256 of the capability's secret, hexadecimal
   * @throws MillraceError `no-such-allocation` for an unknown id and a wrong secret alike;
   *   `allocation-expired`
   */
  find(id: string, kind: Capability, proof: string): Allocation {
    const allocation = this.#all.get(id);
    const proofs = allocation?.head.proofs ?? this.#expired.get(id);
    if (!isProved(proof, proofs?.[kind])) throw new MillraceError('no-such-allocation');
    if (allocation === undefined || allocation.head.expiresAt <= this.#options.wallClock()) {
      throw new MillraceError('allocation-expired');
    }
    return allocation;
  }

  /**
   * Makes an allocation, empty and durable. If this fails, the caller abandons its id.
   *
   * @param head its lease is in the account
   * @throws MillraceError `allocation-expired`; errors of the disk
   */
  async create(head: Head): Promise<Allocation> {
    const { disk, ledger } = this.#options;
    await disk.create(head);
    const allocation = new Allocation(this.#folderOf, head, 0, 0);
    // A short lease may be over by now.
    if (ledger.get(head.id) === undefined) throw new MillraceError('allocation-expired');
    this.#all.set(head.id, allocation);
    return allocation;
  }

  /** Takes back what there is of an allocation that could not be made. Never rejects. */
  async abandon(id: string): Promise<void> {
    const { disk, ledger } = this.#options;
    ledger.release(id);
    await disk.discard(disk.folderOf(id)).catch(() => {});
  }

  /**
   * Changes a head: on the disk first, one change after the other.
   *
   * @throws MillraceError `allocation-expired` if the allocation has ended; errors of the disk, as
   *   `diskError` gives them
   */
  change(allocation: Allocation, changed: Partial<Head>): Promise<void> {
    const { disk, ledger, diskError } = this.#options;
    return allocation.changeHead(async () => {
      const head = { ...allocation.head, ...changed };
      if (this.#all.get(head.id) === undefined) throw new MillraceError('allocation-expired');
      try {
        await disk.writeHead(allocation.folder, head);
      } catch (error) {
        throw diskError(error);
      }
      allocation.head = head;
      ledger.extend(head.id, head.expiresAt);
    });
  }

  /**
   * Ends an allocation at once, with all requests that use it.
   *
   * @param error that these requests end with
   * @throws Error of the disk: it has ended nevertheless, but may be there again after a restart
   */
  async end(
    allocation: Allocation,
    error = new MillraceError('no-such-allocation'),
  ): Promise<void> {
    const { disk, ledger } = this.#options;
    const { id } = allocation.head;
    this.#all.delete(id);
    await allocation.end(error);
    await allocation.changeHead(() => disk.discard(allocation.folder));
    // Until then its bytes take room on the disk.
    ledger.release(id);
  }

  /** Ends an allocation at once, and lets the rest of that go on by itself. */
  endSoon(allocation: Allocation, error: MillraceError): void {
    this.#delete(this.end(allocation, error));
  }

  /** Ends all allocations whose lease is over; their links are told so from now on. */
  collect(): void {
    const { ledger, wallClock } = this.#options;
    for (const id of ledger.expire(wallClock())) {
      const allocation = this.#all.get(id);
      if (allocation === undefined) continue;
      this.#expired.set(id, allocation.head.proofs);
      this.endSoon(allocation, new MillraceError('allocation-expired'));
    }
  }

  /** Ends all requests, and waits for the disk. */
  async close(): Promise<void> {
    const leaving = new MillraceError('draining');
    await Promise.all([...this.#all.values()].map((allocation) => allocation.end(leaving)));
    await Promise.all(this.#deletions);
  }

  /** Lets a deletion go on by itself. */
  #delete(deletion: Promise<void>): void {
    const done = deletion
      .catch((error: unknown) => {
        this.#options.log.error({ err: error }, 'a part of the depot cannot be deleted');
      })
      .finally(() => this.#deletions.delete(done));
    this.#deletions.add(done);
  }

  #restore({ head: left, offset, sums }: Found): void {
    const { ledger, wallClock } = this.#options;
    const pull = left.pull && pullAfterRestart(left.pull, wallClock());
    const head = { ...left, pull };
    const { id, owner, expiresAt, final } = head;
    ledger.restore({ id, owner, bytes: Math.max(head.bytes, offset), expiresAt });
    const allocation = new Allocation(this.#folderOf, head, offset, sums);
    // By a former run, as far as this one knows.
    allocation.told = final !== undefined;
    this.#all.set(id, allocation);
  }
}
