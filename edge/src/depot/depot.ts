/**
 * The depot: making, completing, changing and ending allocations, the account of what their owners
 * may store, and the end of each lease (LOCI 2.1, IBP).
 */

import type { Millis } from '@millrace/shared/base/clock';
import { isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import type { Log } from '@millrace/shared/base/log';
import type { Owner } from '@millrace/shared/cdn/depot/owners-file';
import { type PullRecord, pullAfterRestart } from '@millrace/shared/cdn/depot/pull-record';
import { LeaseLedger } from '@millrace/shared/cdn/upkeep/lease-ledger';
import type { Capability, DepotLink } from '@millrace/shared/http/urls/depot-link';
import type { Owners } from '../policy/depot-owners.ts';
import { proofOf } from '../policy/proofs.ts';
import { Allocation } from './allocation.ts';
import { AllocationDisk, type Found, type Head } from './allocation-disk.ts';
import { Allocations } from './allocations.ts';
import type { Request } from './asked-space.ts';
import { Blocked } from './blocked.ts';
import { readDepotTag } from './depot-tag.ts';
import { DiskRoom } from './disk-room.ts';
import { allowanceOf, checkLease, checkSize, refuse } from './refusals.ts';
import { newCapabilities } from './secrets.ts';
import { Space } from './space.ts';
import { hashRest } from './verified-read.ts';

/** Most allocations at a time. */
const MAX_ALLOCATIONS = 1_000_000;

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

export interface Allocated {
  readonly allocation: Allocation;
  readonly secrets: Readonly<Record<Capability, string>>;
}

/** Content of a complete allocation. */
type Content = Required<Pick<Head, 'edition' | 'final' | 'bytes'>>;

export class Depot {
  readonly #options: DepotOptions;
  readonly #disk: AllocationDisk;
  /** Name with which its ids end. */
  readonly tag: string;
  /** Content that is neither taken nor served. */
  readonly blocked: Blocked;
  /** Bytes that uploads may still take. */
  readonly space: Space;
  /**
   * Called when other nodes must ask again before they serve a file: it has ended, ends sooner, or
   * is blocked. Resolves when they know, or after some seconds; never rejects.
   */
  onChanged: (id: string) => Promise<void> = async () => {};
  readonly #room: DiskRoom;
  readonly #ledger: LeaseLedger;
  readonly #all = new Allocations();
  /** Deletions under way. */
  readonly #deletions = new Set<Promise<void>>();

  private constructor(
    options: DepotOptions,
    disk: AllocationDisk,
    { tag, blocked }: { readonly tag: string; readonly blocked: Blocked },
  ) {
    const { quotaBytes, dir } = options;
    this.#options = options;
    this.#disk = disk;
    this.tag = tag;
    this.blocked = blocked;
    this.#room = new DiskRoom(dir, options.log);
    this.#ledger = new LeaseLedger({ quotaBytes, maxLeases: MAX_ALLOCATIONS });
    this.space = new Space(this.#ledger, options.owners);
  }

  /**
   * Opens a depot with the allocations of former runs.
   *
   * @throws Error if the folder cannot be used
   */
  static async open(options: DepotOptions): Promise<Depot> {
    const { dir } = options;
    const disk = await AllocationDisk.open(dir);
    const own = { tag: await readDepotTag(dir), blocked: await Blocked.open(dir) };
    const depot = new Depot(options, disk, own);
    await disk.recoverAll((found) => depot.#restore(found), options.log);
    depot.#delete(depot.#disk.emptyTrash());
    depot.collect();
    return depot;
  }

  get count(): number {
    return this.#all.count;
  }

  /** All allocations, complete or not. */
  get allocations(): Iterable<Allocation> {
    return this.#all.values();
  }

  /** Returns the allocation of an id, if there is one. */
  get(id: string): Allocation | undefined {
    return this.#all.get(id);
  }

  /** Bytes reserved or stored. */
  get usedBytes(): number {
    return this.#ledger.usedBytes;
  }

  /**
   * Makes an allocation. It is charged before anything else happens.
   *
   * @throws MillraceError `allocation-refused`; `content-blocked` if its digest says so
   */
  async allocate(owner: Owner, request: Request): Promise<Allocated> {
    const { wallClock } = this.#options;
    const { bytes, forMs, name, type, length, sha256, resumable, guest } = request;
    if (this.blocked.has(sha256)) throw new MillraceError('content-blocked');
    checkSize(owner, Math.max(bytes ?? 0, length ?? 0));
    const now = wallClock();
    const expiresAt = now + checkLease(owner, forMs, this.#options.maxLeaseMs);
    const { id, secrets, proofs } = newCapabilities(this.tag);
    const reserved = bytes ?? length ?? 0;
    const lease = { id, owner: owner.name, bytes: reserved, expiresAt };
    refuse(this.#ledger.reserve(lease, allowanceOf(owner)));
    const head: Head = {
      ...{ format: 1, id, owner: owner.name, proofs, createdAt: now, expiresAt },
      ...{ bytes: reserved, grows: bytes === undefined, resumable },
      ...{ name, type, length, sha256, guest },
    };
    try {
      await this.#room.check(reserved);
      const allocation = new Allocation(await this.#disk.create(head), head, 0, 0);
      // A short lease may be over by now.
      if (this.#ledger.get(id) === undefined) throw new MillraceError('allocation-expired');
      this.#all.add(allocation);
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
    return this.#all.find(id, kind, proofOf(secret), this.#options.wallClock());
  }

  /**
   * Finds a complete file for another node, whose client has shown a capability.
   *
   * @param proof SHA-256 of the capability's secret, hexadecimal
   * @throws MillraceError as `find`, and as `checkReadable`
   */
  findFor(id: string, proof: string): Allocation {
    const allocation = this.#all.find(id, 'read', proof, this.#options.wallClock());
    this.checkReadable(allocation);
    allocation.told = true;
    return allocation;
  }

  /**
   * Checks that a file may be read.
   *
   * @returns its length and digest
   * @throws MillraceError `upload-incomplete`, `content-blocked`, `allocation-damaged`
   */
  checkReadable({ head: { final, damaged } }: Allocation): NonNullable<Head['final']> {
    if (final === undefined) throw new MillraceError('upload-incomplete');
    if (this.blocked.has(final.sha256)) throw new MillraceError('content-blocked');
    if (damaged === true) throw new MillraceError('allocation-damaged');
    return final;
  }

  /**
   * Records the length that an upload is to have.
   *
   * @throws MillraceError `inconsistent-length`, and those of `Space.makeRoom`
   */
  async setLength(allocation: Allocation, length: number): Promise<void> {
    const known = allocation.head.length;
    if (known === length) return;
    if (known !== undefined || length < allocation.offset) {
      const least = known ?? allocation.offset;
      throw new MillraceError('inconsistent-length', `${least} and ${length} bytes were stated`);
    }
    this.space.makeRoom(allocation, length);
    await this.#change(allocation, { length });
  }

  /**
   * Completes an upload: from now on it can be read, and only `setContent` changes it.
   *
   * @param wanted SHA-256 that it must have, hexadecimal, or else is not completed
   * @throws MillraceError `inconsistent-length`; `content-mismatch` if its SHA-256 is not `wanted`; the
   *   same if it is another than was stated when it was made, and `content-blocked`: then the
   *   allocation has ended
   */
  async complete(allocation: Allocation, signal: AbortSignal, wanted?: string): Promise<void> {
    const { head, offset: length } = allocation;
    if (head.length !== undefined && head.length !== length) {
      throw new MillraceError('inconsistent-length', `${length} of ${head.length} bytes came`);
    }
    await hashRest(allocation, signal);
    const { sha256 } = allocation;
    const mismatch = new MillraceError('content-mismatch', `their SHA-256 is ${sha256}`);
    const isOther = head.sha256 !== undefined && head.sha256 !== sha256;
    if (isOther || this.blocked.has(sha256)) {
      const error = isOther ? mismatch : new MillraceError('content-blocked');
      // Not waited for: the request that completes has its turn until it has been answered.
      this.#delete(this.end(allocation, error));
      throw error;
    }
    if (wanted !== undefined && wanted !== sha256) throw mismatch;
    const final = { length, sha256, at: this.#options.wallClock() };
    await this.#change(allocation, { final, bytes: length, grows: false, pull: undefined });
    this.#ledger.charge(head.id, length);
  }

  /** Records the claim of a guest, SHA-256, with the name of the file. */
  noteClaim(allocation: Allocation, claim: string, name: string | undefined): Promise<void> {
    return this.#change(allocation, { claim, name: allocation.head.name ?? name });
  }

  /** Records other content, which is durable already. @throws MillraceError `allocation-expired` */
  async setContent(allocation: Allocation, content: Content): Promise<void> {
    await this.#change(allocation, content);
    allocation.offset = content.bytes;
    this.#ledger.charge(allocation.head.id, content.bytes);
  }

  /** Records a pull of an upload, or its end; undefined: bytes come in another way now. */
  async notePull(allocation: Allocation, pull: PullRecord | undefined): Promise<void> {
    if (allocation.head.pull !== pull) await this.#change(allocation, { pull });
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
    const { owner } = this.space.limitsOf(allocation.head);
    const before = allocation.head.expiresAt;
    let changed: Partial<Head> = {};
    if (forMs !== undefined) {
      const expiresAt =
        this.#options.wallClock() + checkLease(owner, forMs, this.#options.maxLeaseMs);
      changed = { expiresAt };
    }
    if (bytes === undefined) await this.#change(allocation, changed);
    else {
      // Bytes on their way have their reservation already.
      const turn = await allocation.takeTurn();
      try {
        this.space.reserve(allocation, bytes);
        await this.#change(allocation, { ...changed, bytes, grows: false });
      } finally {
        turn.end();
      }
    }
    if (allocation.head.expiresAt < before) await this.tell(allocation);
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
    const { id } = allocation.head;
    this.#all.delete(id);
    await allocation.end(error);
    await allocation.changeHead(() => this.#disk.discard(allocation.folder));
    // Until then its bytes take room on the disk.
    this.#ledger.release(id);
  }

  /**
   * Ends an allocation at once, with all requests that use it, and tells other nodes.
   *
   * @throws as `end`
   */
  async release(allocation: Allocation): Promise<void> {
    // Other nodes are told whatever the disk does. They ask again, and find it ended.
    await Promise.all([this.end(allocation), this.tell(allocation)]);
  }

  /** Lets other nodes that may serve a file ask again before they do so. */
  async tell(allocation: Allocation): Promise<void> {
    if (!allocation.told) return;
    // Until one of them has asked again.
    allocation.told = false;
    await this.onChanged(allocation.head.id);
  }

  /** Ends all allocations whose lease is over. */
  collect(): void {
    for (const id of this.#ledger.expire(this.#options.wallClock())) {
      const allocation = this.#all.get(id);
      if (allocation === undefined) continue;
      this.#all.onExpired(allocation);
      const expired = new MillraceError('allocation-expired');
      this.#delete(this.end(allocation, expired));
    }
  }

  /** Notes that a read has failed: bytes that the disk has returned wrongly are not read again. */
  async onReadError(allocation: Allocation, error: unknown): Promise<void> {
    if (!isMillraceError(error, 'allocation-damaged') || allocation.head.damaged === true) return;
    const { id } = allocation.head;
    this.#options.log.error({ id, detail: error.detail }, 'bytes of an allocation are damaged');
    allocation.head = { ...allocation.head, damaged: true };
    await this.#change(allocation, { damaged: true }).catch((cause: unknown) => {
      this.#options.log.error({ err: cause, id }, 'the damage could not be recorded');
    });
  }

  /** Turns an error of the disk into one for a client. A full disk stops new allocations. */
  diskError(error: unknown): unknown {
    return this.#room.errorOf(error);
  }

  /** Ends all requests, and waits for the disk. */
  async close(): Promise<void> {
    const leaving = new MillraceError('draining');
    await Promise.all([...this.#all.values()].map((allocation) => allocation.end(leaving)));
    await Promise.all(this.#deletions);
  }

  /** Changes a head: on the disk first, one change after the other. */
  #change(allocation: Allocation, changed: Partial<Head>): Promise<void> {
    return allocation.changeHead(async () => {
      const head = { ...allocation.head, ...changed };
      if (this.#all.get(head.id) === undefined) throw new MillraceError('allocation-expired');
      await this.#disk.writeHead(allocation.folder, head);
      allocation.head = head;
      this.#ledger.extend(head.id, head.expiresAt);
    });
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

  #restore({ head: left, folder, offset, sums }: Found): void {
    const pull = left.pull && pullAfterRestart(left.pull, this.#options.wallClock());
    const head = { ...left, pull };
    const { id, owner, expiresAt, final } = head;
    this.#ledger.restore({ id, owner, bytes: Math.max(head.bytes, offset), expiresAt });
    const allocation = new Allocation(folder, head, offset, sums);
    // By a former run, as far as this one knows.
    allocation.told = final !== undefined;
    this.#all.add(allocation);
  }
}
