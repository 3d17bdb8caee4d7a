/**
 * The depot: making, changing and ending allocations, finding them by their links, and the account
 * of what their owners may store (LOCI 2.1, IBP).
 */

import type { Millis } from '@millrace/shared/base/clock';
import { isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import type { Log } from '@millrace/shared/base/log';
import type { Owner } from '@millrace/shared/cdn/depot/owners-file';
import { LeaseLedger } from '@millrace/shared/cdn/upkeep/lease-ledger';
import type { Capability, DepotLink } from '@millrace/shared/http/urls/depot-link';
import type { Owners } from '../policy/depot-owners.ts';
import { proofOf } from '../policy/proofs.ts';
import type { Allocation } from './allocation.ts';
import { AllocationDisk, type Left } from './allocation-disk.ts';
import { Allocations } from './allocations.ts';
import { Blocked } from './blocked.ts';
import { Contents } from './contents.ts';
import { readDepotTag } from './depot-tag.ts';
import { DiskRoom } from './disk-room.ts';
import type { Head } from './heads/head.ts';
import { Restoration } from './heads/restoration.ts';
import { allowanceOf, checkLease, checkSize, refuse } from './refusals.ts';
import { newCapabilities } from './secrets.ts';
import { type Request, Space } from './space.ts';

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

/** Name, blocked digests and former allocations, as the folder has them. */
interface Own {
  readonly tag: string;
  readonly blocked: Blocked;
  readonly left: Left;
}

export class Depot {
  readonly #options: DepotOptions;
  /** Name with which its ids end. */
  readonly tag: string;
  /** Content that is neither taken nor served. */
  readonly blocked: Blocked;
  /** Bytes that uploads may still take. */
  readonly space: Space;
  /** Content of its allocations: uploads, and what replaces it. */
  readonly contents: Contents;
  /**
   * Called when other nodes must ask again before they serve a file: it has ended, ends sooner, or
   * is blocked. Resolves when they know, or after some seconds; never rejects.
   */
  onChanged: (id: string) => Promise<void> = async () => {};
  /**
   * Called when an allocation is complete, has other content, or its lease has another end. Resolves
   * when others have it that are to keep it, or after some seconds; never rejects.
   */
  onStored: (allocation: Allocation) => Promise<void> = async () => {};
  readonly #room: DiskRoom;
  readonly #ledger: LeaseLedger;
  readonly #all: Allocations;
  readonly #restoration: Restoration;

  private constructor(options: DepotOptions, disk: AllocationDisk, { tag, blocked, left }: Own) {
    const { quotaBytes, dir, log, wallClock } = options;
    this.#options = options;
    this.tag = tag;
    this.blocked = blocked;
    this.#room = new DiskRoom(dir, log);
    const ledger = new LeaseLedger({ quotaBytes, maxLeases: MAX_ALLOCATIONS });
    this.#ledger = ledger;
    this.space = new Space(ledger, options.owners);
    const diskError = (error: unknown) => this.diskError(error);
    const all = new Allocations({ disk, ledger, log, wallClock, diskError });
    this.#all = all;
    const onStored = (allocation: Allocation) => this.onStored(allocation);
    this.#restoration = new Restoration((signal) => all.recover(left, signal));
    this.contents = new Contents({ all, ledger, space: this.space, blocked, wallClock, onStored });
  }

  /**
   * Opens a depot with the allocations of former runs.
   *
   * @throws Error if the folder cannot be used
   */
  static async open(options: DepotOptions): Promise<Depot> {
    const depot = await Depot.begin(options);
    await depot.#restoration.done;
    return depot;
  }

  /**
   * Opens a depot that goes on to read the allocations of former runs. What concerns these waits for
   * `ready` first.
   *
   * @throws Error if the folder cannot be used
   */
  static async begin(options: DepotOptions): Promise<Depot> {
    const { dir } = options;
    const disk = await AllocationDisk.open(dir);
    const tag = await readDepotTag(dir);
    return new Depot(options, disk, {
      tag,
      blocked: await Blocked.open(dir),
      left: await disk.list(),
    });
  }

  /** True once all allocations of former runs are there. */
  get isReady(): boolean {
    return this.#restoration.isDone;
  }

  /**
   * Waits until all allocations of former runs are there.
   *
   * @throws MillraceError `depot-unreachable` if that takes long; the signal's reason
   */
  ready(signal: AbortSignal): Promise<void> {
    return this.#restoration.wait(signal);
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
      return { allocation: await this.#all.create(head), secrets };
    } catch (error) {
      await this.#all.abandon(id);
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
    return this.#all.find(id, kind, proofOf(secret));
  }

  /**
   * Finds a complete file for another node, whose client has shown a capability.
   *
   * @param proof SHA-256 of the capability's secret, hexadecimal
   * @throws MillraceError as `find`, and as `checkReadable`
   */
  findFor(id: string, proof: string): Allocation {
    const allocation = this.#all.find(id, 'read', proof);
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
    if (bytes === undefined) await this.#all.change(allocation, changed);
    else {
      // Bytes on their way have their reservation already.
      const turn = await allocation.takeTurn();
      try {
        this.space.reserve(allocation, bytes);
        await this.#all.change(allocation, { ...changed, bytes, grows: false });
      } finally {
        turn.end();
      }
    }
    if (allocation.head.expiresAt < before) await this.tell(allocation);
    else if (allocation.head.expiresAt > before) await this.onStored(allocation);
  }

  /** Ends an allocation at once, with all requests that use it. @throws as `Allocations.end` */
  end(allocation: Allocation): Promise<void> {
    return this.#all.end(allocation);
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
    this.#all.collect();
  }

  /** Notes that a read has failed: bytes that the disk has returned wrongly are not read again. */
  async onReadError(allocation: Allocation, error: unknown): Promise<void> {
    if (!isMillraceError(error, 'allocation-damaged') || allocation.head.damaged === true) return;
    const { id } = allocation.head;
    this.#options.log.error({ id, detail: error.detail }, 'bytes of an allocation are damaged');
    allocation.head = { ...allocation.head, damaged: true };
    await this.#all.change(allocation, { damaged: true }).catch((cause: unknown) => {
      this.#options.log.error({ err: cause, id }, 'the damage could not be recorded');
    });
  }

  /** Turns an error of the disk into one for a client. A full disk stops new allocations. */
  diskError(error: unknown): unknown {
    return this.#room.errorOf(error);
  }

  /** Ends all requests, and waits for the disk. */
  async close(): Promise<void> {
    await this.#restoration.end();
    await this.#all.close();
  }
}
