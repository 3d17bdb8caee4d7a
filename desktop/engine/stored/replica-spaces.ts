/**
 * Space in depots for further replicas: reserved, written down before a byte is stored, and released
 * if it is of no use. The exNode lists all of it, so no capability is lost.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { safeFileName } from '@millrace/shared/download/request/file-name';
import { grantedEnd } from '@millrace/shared/exnode/allocations';
import type { Augmentation, Fill } from '@millrace/shared/exnode/augment';
import type { Begun, Exnode } from '@millrace/shared/exnode/exnode';
import { depotOf } from '@millrace/shared/exnode/layout';
import { withBegun, withStored } from '@millrace/shared/exnode/replicas';
import { extend, release } from '../upload/depot-client.ts';
import { isGone, reserve } from '../upload/reserve.ts';
import { Retry, type RetryOptions } from '../upload/retry.ts';
import type { DepotAccess } from '../upload/spread-upload.ts';
import type { KeptExnode } from './kept-exnode.ts';

/** Longest wait for the release of space: what is not released stays written down. */
const RELEASE_MS: Millis = 10_000;

export interface SpacesOptions extends RetryOptions {
  readonly kept: KeptExnode;
  readonly plan: Augmentation;
  /** Tokens by the addresses of depots. */
  readonly access: ReadonlyMap<string, DepotAccess>;
  /** End of the leases, Unix milliseconds. */
  readonly end: Millis;
  /** Unix milliseconds. */
  readonly wallClock: () => Millis;
}

export class ReplicaSpaces {
  readonly #options: SpacesOptions;

  constructor(options: SpacesOptions) {
    this.#options = options;
  }

  /** The exNode as it is now. */
  get exnode(): Exnode {
    return this.#options.kept.exnode;
  }

  /** Reserves space, and writes down where, before the first byte is stored. */
  async begin(fill: Fill): Promise<Begun | undefined> {
    const { access: depots, signal, plan } = this.#options;
    const access = depots.get(fill.depot);
    if (access === undefined) throw new MillraceError('owner-token-required', 'name it by --edge');
    const wanted = { ...access, bytes: fill.bytes, name: safeFileName(this.exnode.name) };
    const allocated = await this.#retry(() => reserve({ ...wanted, forMs: this.#forMs, signal }));
    const { read, write, manage } = allocated;
    // The end that is asked for below: until then the depot may have it.
    const expires = this.#options.wallClock() + this.#forMs;
    const replica = { read, at: 0, expires, write, manage };
    const begun = { start: fill.start, end: fill.end, shard: fill.shard, replica };
    try {
      await this.#options.kept.change((kept) => withBegun(kept, [...(kept.begun ?? []), begun]));
    } catch (error) {
      await release(manage, AbortSignal.timeout(RELEASE_MS)).catch(() => {});
      throw error;
    }
    if (!plan.onAllocated(fill, depotOf(replica))) {
      await this.drop(begun);
      return undefined;
    }
    try {
      return await this.extend(begun);
    } catch (error) {
      // The depot does not store files for that long.
      if (isMillraceError(error, 'allocation-refused')) await this.drop(begun);
      throw error;
    }
  }

  /** Time from now to the end of the new leases. */
  get #forMs(): Millis {
    return Math.max(1000, this.#options.end - this.#options.wallClock());
  }

  /** Gives a lease its end, and writes that down. */
  async extend(begun: Begun): Promise<Begun> {
    const { signal, wallClock } = this.#options;
    const { manage = '', expires: listed = 0 } = begun.replica;
    const forMs = this.#forMs;
    const asked = wallClock() + forMs;
    // Written down before: until then the depot may have it, whatever happens to the answer.
    const known = asked > listed ? await this.#relist(begun, asked) : begun;
    const told = await this.#retry(() => extend(manage, Math.ceil(forMs / 1000), signal));
    return this.#relist(known, grantedEnd(told, wallClock(), asked));
  }

  /** Lists space with another end of its lease. */
  async #relist(begun: Begun, expires: Millis): Promise<Begun> {
    const changed = { ...begun, replica: { ...begun.replica, expires } };
    await this.#options.kept.change((kept) => withBegun(kept, [...others(kept, begun), changed]));
    return changed;
  }

  /** Lists a replica that is stored and right. */
  list(stored: Begun): Promise<void> {
    return this.#options.kept.change((kept) => withStored(kept, stored, stored.replica));
  }

  /** Releases space. One that its depot does not release stays written down for the next run. */
  async drop(begun: Begun): Promise<void> {
    const { manage } = begun.replica;
    try {
      if (manage !== undefined) await release(manage, AbortSignal.timeout(RELEASE_MS));
    } catch (error) {
      if (!isGone(error)) return;
    }
    await this.forget(begun);
  }

  /** Takes space out of the list: its depot does not have it any more. */
  forget(begun: Begun): Promise<void> {
    return this.#options.kept.change((kept) => withBegun(kept, others(kept, begun)));
  }

  #retry<T>(act: () => Promise<T>): Promise<T> {
    return new Retry(this.#options).run(act);
  }
}

function others({ begun = [] }: Exnode, { replica }: Begun): Begun[] {
  return begun.filter((one) => one.replica.read !== replica.read);
}
