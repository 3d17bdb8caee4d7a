/**
 * The depot: allocations by their ids, the account of what their owners may store, and the end of
 * each lease (LOCI 2.1, IBP).
 */

import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import type { Log } from '@millrace/shared/base/log';
import type { Owner } from '@millrace/shared/cdn/depot/owners-file';
import { type Allowance, LeaseLedger } from '@millrace/shared/cdn/upkeep/lease-ledger';
import type { Capability, DepotLink } from '@millrace/shared/http/urls/depot-link';
import { LRUCache } from 'lru-cache';
import type { Owners } from '../policy/depot-owners.ts';
import { proves } from '../policy/proofs.ts';
import { Allocation } from './allocation.ts';
import { AllocationDisk, type Head } from './allocation-disk.ts';
import { DiskRoom, isDiskFull } from './disk-room.ts';
import { allowanceOf, checkLease, checkSize, NO_MORE, refuse } from './refusals.ts';
import { newCapabilities, type Proofs } from './secrets.ts';
import { readVerified } from './verified-read.ts';

/** Most allocations at a time. */
const MAX_ALLOCATIONS = 1_000_000;
/** Ended leases whose links are told that they have expired; others are told that there is no file. */
const MAX_EXPIRED = 10_000;
/** Bytes by which the reservation of an upload of unknown length grows. */
const GROWTH_BYTES = 64 * 1024 * 1024;
/** Allocations of a former run that are read at a time. */
const RECOVERED_AT_ONCE = 32;

export interface DepotOptions {
  readonly dir: string;
  readonly quotaBytes: number;
  /** Longest time from now to the end of a lease. */
  readonly maxLeaseMs: Millis;
  readonly owners: Owners;
  readonly log: Log;
  /** Unix milliseconds. */
  readonly wallClock: () => Millis;
}

/** Space that is asked for, and the file that it is for. */
export interface Request {
  /** Bytes to reserve; undefined: as many as come. */
  readonly bytes: number | undefined;
  readonly forMs: Millis;
  readonly name?: string | undefined;
  readonly type?: string | undefined;
  /** Length and SHA-256, hexadecimal, that it must have. */
  readonly length?: number | undefined;
  readonly sha256?: string | undefined;
  readonly resumable: boolean;
}

export interface Allocated {
  readonly allocation: Allocation;
  readonly secrets: Readonly<Record<Capability, string>>;
}

export class Depot {
  readonly #options: DepotOptions;
  readonly #disk: AllocationDisk;
  readonly #room: DiskRoom;
  readonly #ledger: LeaseLedger;
  readonly #all = new Map<string, Allocation>();
  readonly #expired = new LRUCache<string, Proofs>({ max: MAX_EXPIRED });
  /** Deletions under way. */
  readonly #deletions = new Set<Promise<void>>();

  private constructor(options: DepotOptions, disk: AllocationDisk) {
    const { quotaBytes, dir } = options;
    this.#options = options;
    this.#disk = disk;
    this.#room = new DiskRoom(dir);
    this.#ledger = new LeaseLedger({ quotaBytes, maxLeases: MAX_ALLOCATIONS });
  }

  /**
   * Opens a depot with the allocations of former runs.
   *
   * @throws Error if the folder cannot be used
   */
  static async open(options: DepotOptions): Promise<Depot> {
    const depot = new Depot(options, await AllocationDisk.open(options.dir));
    await depot.#recover();
    depot.#delete(depot.#disk.emptyTrash());
    depot.collect();
    return depot;
  }

  get count(): number {
    return this.#all.size;
  }

  /** Bytes reserved or stored. */
  get usedBytes(): number {
    return this.#ledger.usedBytes;
  }

  /**
   * Makes an allocation. It is charged before anything else happens.
   *
   * @throws MillraceError `allocation-refused`
   */
  async allocate(owner: Owner, request: Request): Promise<Allocated> {
    const { wallClock } = this.#options;
    const { bytes, forMs, name, type, length, sha256, resumable } = request;
    checkSize(owner, Math.max(bytes ?? 0, length ?? 0));
    const now = wallClock();
    const expiresAt = now + checkLease(owner, forMs, this.#options.maxLeaseMs);
    const { id, secrets, proofs } = newCapabilities();
    const reserved = bytes ?? length ?? 0;
    const lease = { id, owner: owner.name, bytes: reserved, expiresAt };
    refuse(this.#ledger.reserve(lease, allowanceOf(owner)));
    const head: Head = {
      ...{ format: 1, id, owner: owner.name, proofs, createdAt: now, expiresAt },
      ...{ bytes: reserved, grows: bytes === undefined, resumable },
      ...{ name, type, length, sha256 },
    };
    try {
      await this.#room.check(reserved);
      const allocation = new Allocation(await this.#disk.create(head), head, 0, 0);
      // A short lease may be over by now.
      if (this.#ledger.get(id) === undefined) throw new MillraceError('allocation-expired');
      this.#all.set(id, allocation);
      return { allocation, secrets };
    } catch (error) {
      this.#ledger.release(id);
      const folder = this.#disk.folderOf(id);
      await this.#disk.discard(folder).catch(() => {});
      throw this.diskError(error);
    }
  }

  /**
   * Finds the allocation of a capability.
   *
   * @throws MillraceError `no-such-allocation` for an unknown id and a wrong secret alike;
   *   `allocation-expired`
   */
  find({ kind, id, secret }: DepotLink): Allocation {
    const allocation = this.#all.get(id);
    const proofs = allocation?.head.proofs ?? this.#expired.get(id);
    if (!proves(secret, proofs?.[kind])) throw new MillraceError('no-such-allocation');
    if (allocation === undefined || allocation.head.expiresAt <= this.#options.wallClock()) {
      throw new MillraceError('allocation-expired');
    }
    return allocation;
  }

  /**
   * Makes room for bytes of an upload before they are taken.
   *
   * @param end offset behind the bytes
   * @throws MillraceError `upload-too-long`, `inconsistent-length`, `allocation-refused`
   */
  makeRoom({ head }: Allocation, end: number): void {
    if (head.length !== undefined && end > head.length) {
      throw new MillraceError('inconsistent-length', `it is to have ${head.length} bytes`);
    }
    const reserved = this.#ledger.get(head.id)?.bytes ?? 0;
    if (end <= reserved) return;
    if (!head.grows) {
      throw new MillraceError('upload-too-long', `${head.bytes} bytes are reserved`);
    }
    const { owner, allowance } = this.#limitsOf(head);
    if (owner !== undefined) checkSize(owner, end);
    const more = Math.min(Math.max(end, reserved + GROWTH_BYTES), owner?.each ?? end);
    if (this.#ledger.charge(head.id, more, allowance) === undefined) return;
    refuse(this.#ledger.charge(head.id, end, allowance));
  }

  /** Largest length that an upload may have as far as it is known; undefined: no limit is known. */
  maxSize({ head }: Allocation): number | undefined {
    if (!head.grows) return head.bytes;
    const each = this.#limitsOf(head).owner?.each ?? Infinity;
    return each === Infinity ? undefined : each;
  }

  /**
   * Records the length that an upload is to have.
   *
   * @throws MillraceError `inconsistent-length`, and those of `makeRoom`
   */
  async setLength(allocation: Allocation, length: number): Promise<void> {
    const known = allocation.head.length;
    if (known === length) return;
    if (known !== undefined || length < allocation.offset) {
      const least = known ?? allocation.offset;
      throw new MillraceError('inconsistent-length', `${least} and ${length} bytes were stated`);
    }
    this.makeRoom(allocation, length);
    await this.#change(allocation, { length });
  }

  /**
   * Completes an upload: from now on it can be read, and never changes.
   *
   * @throws MillraceError `inconsistent-length`; `content-mismatch` if its SHA-256 is another than
   *   was stated: then the allocation has ended
   */
  async complete(allocation: Allocation, signal: AbortSignal): Promise<void> {
    const { head, offset: length } = allocation;
    if (head.length !== undefined && head.length !== length) {
      throw new MillraceError('inconsistent-length', `${length} of ${head.length} bytes came`);
    }
    const { hashedEnd } = allocation;
    // Bytes of a former run.
    let at = hashedEnd;
    for await (const bytes of readVerified(allocation.folder, { start: at, end: length })) {
      signal.throwIfAborted();
      allocation.addToHash(bytes, at);
      at += bytes.length;
    }
    const { sha256 } = allocation;
    if (head.sha256 !== undefined && head.sha256 !== sha256) {
      const error = new MillraceError('content-mismatch', `their SHA-256 is ${sha256}`);
      // Not waited for: the request that completes has its turn until it has been answered.
      this.#delete(this.#end(allocation, error));
      throw error;
    }
    const final = { length, sha256, at: this.#options.wallClock() };
    await this.#change(allocation, { final, bytes: length, grows: false });
    this.#ledger.charge(head.id, length);
  }

  /**
   * Changes the end of a lease, counted from now, and the bytes reserved; the latter terminates a
   * request that appends.
   *
   * @throws MillraceError `allocation-refused`; `upload-complete` if bytes are to be reserved for a
   *   complete upload; `inconsistent-length` if they are fewer than have come
   */
  async change(
    allocation: Allocation,
    { forMs, bytes }: { forMs?: Millis | undefined; bytes?: number | undefined },
  ): Promise<void> {
    const { owner } = this.#limitsOf(allocation.head);
    let changed: Partial<Head> = {};
    if (forMs !== undefined) {
      const expiresAt =
        this.#options.wallClock() + checkLease(owner, forMs, this.#options.maxLeaseMs);
      changed = { expiresAt };
    }
    if (bytes === undefined) return this.#change(allocation, changed);
    // Bytes on their way have their reservation already.
    const turn = await allocation.takeTurn();
    try {
      this.#reserve(allocation, bytes);
      await this.#change(allocation, { ...changed, bytes, grows: false });
    } finally {
      turn.end();
    }
  }

  /** Ends an allocation at once, with all requests that use it. */
  async release(allocation: Allocation): Promise<void> {
    const gone = new MillraceError('no-such-allocation', 'it has been released');
    await this.#end(allocation, gone);
  }

  /** Ends all allocations whose lease is over. */
  collect(): void {
    for (const id of this.#ledger.expire(this.#options.wallClock())) {
      const allocation = this.#all.get(id);
      if (allocation === undefined) continue;
      this.#expired.set(id, allocation.head.proofs);
      const expired = new MillraceError('allocation-expired');
      this.#delete(this.#end(allocation, expired));
    }
  }

  /** Remembers that the disk has returned wrong bytes: they are not read again. */
  async markDamaged(allocation: Allocation, error: MillraceError): Promise<void> {
    const { id } = allocation.head;
    this.#options.log.error({ id, detail: error.detail }, 'bytes of an allocation are damaged');
    allocation.head = { ...allocation.head, damaged: true };
    await this.#change(allocation, { damaged: true }).catch((cause: unknown) => {
      this.#options.log.error({ err: cause, id }, 'the damage could not be recorded');
    });
  }

  /** Turns an error of the disk into one for a client. A full disk stops new allocations. */
  diskError(error: unknown): unknown {
    if (!isDiskFull(error)) return error;
    this.#room.onFull();
    this.#options.log.error({ err: error }, 'the disk of the depot is full');
    return new MillraceError('allocation-refused', 'the disk of the depot is full', {
      cause: error,
    });
  }

  /** Ends all requests, and waits for the disk. */
  async close(): Promise<void> {
    const leaving = new MillraceError('draining');
    await Promise.all([...this.#all.values()].map((allocation) => allocation.end(leaving)));
    await Promise.all(this.#deletions);
  }

  /** Charges another number of bytes for an incomplete upload. */
  #reserve({ head, offset, isComplete }: Allocation, bytes: number): void {
    const { owner, allowance } = this.#limitsOf(head);
    if (isComplete) throw new MillraceError('upload-complete');
    if (bytes < Math.max(offset, head.length ?? 0)) {
      throw new MillraceError('inconsistent-length', `it has ${offset} bytes already`);
    }
    if (owner !== undefined) checkSize(owner, bytes);
    refuse(this.#ledger.charge(head.id, bytes, allowance));
  }

  /** Changes a head: on the disk first, one change after the other. */
  #change(allocation: Allocation, changed: Partial<Head>): Promise<void> {
    return allocation.changeHead(async () => {
      const head = { ...allocation.head, ...changed };
      if (!this.#all.has(head.id)) throw new MillraceError('allocation-expired');
      await this.#disk.writeHead(allocation.folder, head);
      allocation.head = head;
      this.#ledger.extend(head.id, head.expiresAt);
    });
  }

  async #end(allocation: Allocation, error: MillraceError): Promise<void> {
    const { id } = allocation.head;
    this.#all.delete(id);
    await allocation.end(error);
    await allocation.changeHead(() => this.#disk.discard(allocation.folder));
    // Until then its bytes take room on the disk.
    this.#ledger.release(id);
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

  async #recover(): Promise<void> {
    const folders = await this.#disk.folders();
    const recoverNext = async () => {
      for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
        await this.#recoverOne(folder);
      }
    };
    await Promise.all(Array.from({ length: RECOVERED_AT_ONCE }, recoverNext));
  }

  async #recoverOne(folder: string): Promise<void> {
    const { log } = this.#options;
    try {
      const { head, offset, sums } = await this.#disk.recover(folder);
      const { id, owner, expiresAt, final, resumable } = head;
      // Nobody can continue it.
      if (final === undefined && !resumable) return await this.#disk.discard(folder);
      const bytes = Math.max(head.bytes, offset);
      this.#ledger.restore({ id, owner, bytes, expiresAt });
      this.#all.set(id, new Allocation(folder, head, offset, sums));
    } catch (error) {
      log.error({ err: error, folder }, 'an allocation is damaged and is not used');
    }
  }

  #limitsOf({ owner: name }: Head): { owner: Owner | undefined; allowance: Allowance } {
    const owner = this.#options.owners.named(name);
    // An owner who has been struck off keeps what is stored, and gets no more.
    return { owner, allowance: owner === undefined ? NO_MORE : allowanceOf(owner) };
  }
}
