/**
 * Content of allocations: the length and the completion of uploads, who or what sends their bytes,
 * and content that replaces a complete one.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import type { PullRecord } from '@millrace/shared/cdn/depot/pull-record';
import type { LeaseLedger } from '@millrace/shared/cdn/upkeep/lease-ledger';
import type { Allocation } from './allocation.ts';
import type { Allocations } from './allocations.ts';
import type { Blocked } from './blocked.ts';
import type { Head } from './heads/head.ts';
import type { Space } from './space.ts';
import { hashRest } from './verified-read.ts';

/** Content of a complete allocation. */
type Content = Required<Pick<Head, 'edition' | 'final' | 'bytes'>>;

export interface ContentsOptions {
  readonly all: Allocations;
  readonly ledger: LeaseLedger;
  readonly space: Space;
  /** Content that is not taken. */
  readonly blocked: Blocked;
  /** Unix milliseconds. */
  readonly wallClock: () => Millis;
  /** Called when an allocation is complete; never rejects. */
  readonly onStored: (allocation: Allocation) => Promise<void>;
}

export class Contents {
  readonly #options: ContentsOptions;

  constructor(options: ContentsOptions) {
    this.#options = options;
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
    this.#options.space.makeRoom(allocation, length);
    await this.#options.all.change(allocation, { length });
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
    if (isOther || this.#options.blocked.has(sha256)) {
      const error = isOther ? mismatch : new MillraceError('content-blocked');
      // Not waited for: the request that completes has its turn until it has been answered.
      this.#options.all.endSoon(allocation, error);
      throw error;
    }
    if (wanted !== undefined && wanted !== sha256) throw mismatch;
    const final = { length, sha256, at: this.#options.wallClock() };
    await this.#options.all.change(allocation, {
      final,
      bytes: length,
      grows: false,
      pull: undefined,
    });
    this.#options.ledger.charge(head.id, length);
    await this.#options.onStored(allocation);
  }

  /** Records the claim of a guest, SHA-256, with the name of the file. */
  noteClaim(allocation: Allocation, claim: string, name: string | undefined): Promise<void> {
    return this.#options.all.change(allocation, { claim, name: allocation.head.name ?? name });
  }

  /** Records other content, which is durable already. @throws MillraceError `allocation-expired` */
  async setContent(allocation: Allocation, content: Content): Promise<void> {
    await this.#options.all.change(allocation, content);
    allocation.offset = content.bytes;
    this.#options.ledger.charge(allocation.head.id, content.bytes);
  }

  /** Records a pull of an upload, or its end; undefined: bytes come in another way now. */
  async notePull(allocation: Allocation, pull: PullRecord | undefined): Promise<void> {
    if (allocation.head.pull !== pull) await this.#options.all.change(allocation, { pull });
  }
}
