/**
 * Space of an upload in a depot: it is written down before the first byte is stored, so that the same
 * command takes it up again.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { isMillraceError } from '@millrace/shared/base/errors';
import type { FileState } from '../archive/upload-source.ts';
import { type Allocated, extend, release } from './depot-client.ts';
import { FIRST_LEASE_MS, isGone, type Reservation, reserve } from './reserve.ts';
import type { Retry } from './retry.ts';
import type { UploadJournal } from './upload-journal.ts';

export interface KeptSpaceOptions {
  readonly journal: UploadJournal;
  readonly fileState: FileState;
  /** Time from now for which the file is stored. */
  readonly forMs: Millis;
  readonly retry: Retry;
  readonly signal: AbortSignal;
}

export class KeptSpace {
  readonly #options: KeptSpaceOptions;
  #isNew = false;

  constructor(options: KeptSpaceOptions) {
    this.#options = options;
  }

  /** True once space was reserved, in which nothing is stored yet. */
  get isNew(): boolean {
    return this.#isNew;
  }

  /**
   * Takes up the space of an earlier upload of the file, or reserves some.
   *
   * @param wanted the depot, and what it stores
   * @param onLost called if an earlier upload cannot be continued
   * @throws MillraceError as `allocate`
   */
  async take(
    wanted: Omit<Reservation, 'forMs' | 'signal'>,
    onLost: () => void,
  ): Promise<Allocated> {
    const { journal, fileState } = this.#options;
    const earlier = await journal.read(fileState);
    // Of another state of the file, it would only take room.
    if (earlier?.isSame === false) await this.giveUp(earlier.allocated);
    const allocated = earlier?.isSame ? await this.#continue(earlier.allocated) : undefined;
    if (earlier !== undefined && allocated === undefined) onLost();
    return allocated ?? (await this.#begin(wanted));
  }

  /** Releases space that is of no use, as far as the depot can be reached. */
  async giveUp({ manage }: Allocated): Promise<void> {
    await this.#options.journal.remove();
    await release(manage, this.#options.signal).catch(() => {});
  }

  /** Reserves space, and writes down where, before the first byte is stored. */
  async #begin(wanted: Omit<Reservation, 'forMs' | 'signal'>): Promise<Allocated> {
    const { journal, fileState, forMs, retry, signal } = this.#options;
    const allocated = await retry.run(() => reserve({ ...wanted, forMs, signal }));
    this.#isNew = true;
    await journal.write(fileState, allocated);
    if (forMs <= FIRST_LEASE_MS) return allocated;
    try {
      return await this.#extend(allocated);
    } catch (error) {
      // The depot does not store files for that long.
      if (isMillraceError(error, 'allocation-refused')) await this.giveUp(allocated);
      throw error;
    }
  }

  /** Gives the lease its end, counted from now. */
  async #extend(allocated: Allocated): Promise<Allocated> {
    const { journal, fileState, forMs, retry, signal } = this.#options;
    const seconds = Math.ceil(forMs / 1000);
    const expires = await retry.run(() => extend(allocated.manage, seconds, signal));
    await journal.write(fileState, { ...allocated, expires });
    return { ...allocated, expires };
  }

  /** Takes up an earlier upload. @returns undefined if the depot does not have it any more */
  async #continue(earlier: Allocated): Promise<Allocated | undefined> {
    try {
      return await this.#extend(earlier);
    } catch (error) {
      if (!isGone(error)) throw error;
      await this.#options.journal.remove();
      return undefined;
    }
  }
}
