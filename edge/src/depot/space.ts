/**
 * Space of allocations: what is asked for, and what uploads may still take, within what their owners
 * may store.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import type { Owner } from '@millrace/shared/cdn/depot/owners-file';
import type { Allowance, LeaseLedger } from '@millrace/shared/cdn/upkeep/lease-ledger';
import type { Owners } from '../policy/depot-owners.ts';
import type { Allocation } from './allocation.ts';
import type { Head } from './heads/head.ts';
import { allowanceOf, checkSize, NO_MORE, refuse } from './refusals.ts';

/** Bytes by which the reservation of an upload of unknown length grows. */
const GROWTH_BYTES = 64 * 1024 * 1024;

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
  /** Set if it is reserved for a guest. */
  readonly guest?: true | undefined;
}

export class Space {
  readonly #ledger: LeaseLedger;
  readonly #owners: Owners;

  constructor(ledger: LeaseLedger, owners: Owners) {
    this.#ledger = ledger;
    this.#owners = owners;
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
    const { owner, allowance } = this.limitsOf(head);
    if (owner !== undefined) checkSize(owner, end);
    const more = Math.min(Math.max(end, reserved + GROWTH_BYTES), owner?.each ?? end);
    if (this.#ledger.charge(head.id, more, allowance) === undefined) return;
    refuse(this.#ledger.charge(head.id, end, allowance));
  }

  /** Largest length that an upload may have as far as it is known; undefined: no limit is known. */
  maxSize({ head }: Allocation): number | undefined {
    if (!head.grows) return head.bytes;
    const each = this.limitsOf(head).owner?.each ?? Infinity;
    return each === Infinity ? undefined : each;
  }

  /**
   * Charges an exNode that is to be replaced for the longer of both.
   *
   * @throws MillraceError `allocation-refused`
   */
  replace({ head }: Allocation, bytes: number): void {
    const { owner, allowance } = this.limitsOf(head);
    if (owner !== undefined) checkSize(owner, bytes);
    refuse(this.#ledger.charge(head.id, Math.max(bytes, head.bytes), allowance));
  }

  /**
   * Charges another number of bytes for an incomplete upload.
   *
   * @throws MillraceError `allocation-refused`, `upload-complete`, `inconsistent-length`
   */
  reserve({ head, offset, isComplete }: Allocation, bytes: number): void {
    const { owner, allowance } = this.limitsOf(head);
    if (isComplete) throw new MillraceError('upload-complete');
    if (bytes < Math.max(offset, head.length ?? 0)) {
      throw new MillraceError('inconsistent-length', `it has ${offset} bytes already`);
    }
    if (owner !== undefined) checkSize(owner, bytes);
    refuse(this.#ledger.charge(head.id, bytes, allowance));
  }

  /** Returns the bytes and the number of allocations that an owner may still have. */
  left({ name, bytes, count }: Owner): { readonly bytes: number; readonly count: number } {
    const used = this.#ledger.used(name);
    const free = Math.min(this.#ledger.quotaBytes - this.#ledger.usedBytes, bytes - used.bytes);
    return { bytes: Math.max(0, free), count: Math.max(0, count - used.leases) };
  }

  /** Finds the owner of an allocation, and what they may have. */
  limitsOf({ owner: name }: Head): { owner: Owner | undefined; allowance: Allowance } {
    const owner = this.#owners.named(name);
    // An owner who has been struck off keeps what is stored, and gets no more.
    return { owner, allowance: owner === undefined ? NO_MORE : allowanceOf(owner) };
  }
}
