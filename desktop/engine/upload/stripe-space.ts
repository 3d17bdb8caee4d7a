/**
 * The space of one depot in a striped upload: an allocation, which is written down before the first
 * byte is sent, so that the same command takes it up again.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import type { FileState } from '../archive/upload-source.ts';
import { type Allocated, extend, release, stateOf, type UploadState } from './depot-client.ts';
import { isGone, reserve } from './reserve.ts';
import type { Retry } from './retry.ts';
import { leavesDepot } from './spread/store-documents.ts';
import type { DepotAccess } from './spread-upload.ts';
import { UploadJournal } from './upload-journal.ts';

export interface SpaceOptions {
  /** The file, an absolute path, and its state. */
  readonly path: string;
  readonly fileState: FileState;
  /** Name of the depot's part in the stripe, which tells it from all others of the file. */
  readonly part: string;
  readonly access: DepotAccess;
  /** Folder for the state of programs. */
  readonly state: string;
  /** Names the key that the bytes are encrypted with; undefined: they are not. */
  readonly keyId: string | undefined;
}

/** The space that an upload needs at a depot, and for how long. */
export interface SpaceWish {
  readonly bytes: number;
  /** Name that the stored bytes get. */
  readonly name: string;
  readonly forMs: Millis;
  readonly retry: Retry;
  /**
   * True if the space of an earlier upload is taken even though its depot does not answer: `look` then
   * asks it again for the lease.
   */
  readonly defers: boolean;
  readonly signal: AbortSignal;
}

export class StripeSpace {
  readonly access: DepotAccess;
  /** Bytes that the depot has acknowledged. */
  stored = 0;
  /** SHA-256 of the complete stream as the depot says; undefined: it is not complete. */
  sha256: string | undefined;
  readonly #fileState: FileState;
  readonly #journal: UploadJournal;
  #allocated: Allocated | undefined;
  #unlock: (() => Promise<void>) | undefined;
  /** Time for which the lease has still to be extended; undefined: it has been. */
  #deferredMs: Millis | undefined;

  constructor({ path, fileState, part, access, state, keyId }: SpaceOptions) {
    this.access = access;
    this.#fileState = fileState;
    this.#journal = new UploadJournal(state, path, access.edge, part, keyId);
  }

  /** @throws TypeError before `take` */
  get allocated(): Allocated {
    if (this.#allocated === undefined) throw new TypeError('no space has been taken');
    return this.#allocated;
  }

  /** Returns true if an earlier upload of the same file has space here. */
  async isBegun(): Promise<boolean> {
    return (await this.#journal.read(this.#fileState))?.isSame === true;
  }

  /**
   * Takes up the space of an earlier upload, or reserves some.
   *
   * @param onLost called if the depot does not have that of the earlier upload any more
   * @throws MillraceError as `allocate`; `upload-running`
   */
  async take(wish: SpaceWish, onLost: () => void): Promise<void> {
    this.#unlock = await this.#journal.lock().catch((error: unknown) => {
      throw isMillraceError(error, 'file-in-use') ? new MillraceError('upload-running') : error;
    });
    const earlier = await this.#journal.read(this.#fileState);
    if (earlier?.isSame === false) await this.#release(earlier.allocated, wish.signal);
    else if (earlier !== undefined) {
      try {
        return await this.#takeUp(earlier.allocated, wish);
      } catch (error) {
        if (!isGone(error)) throw error;
        await this.#journal.remove();
        onLost();
      }
    }
    const { edge, token } = this.access;
    const { bytes, name, forMs, retry, signal } = wish;
    const reserved = await retry.run(() => reserve({ edge, token, bytes, name, forMs, signal }));
    await this.#journal.write(this.#fileState, reserved);
    try {
      await this.#keep(reserved, wish);
    } catch (error) {
      // The depot does not store files for that long.
      if (isMillraceError(error, 'allocation-refused')) await this.#release(reserved, signal);
      throw error;
    }
  }

  /** Asks the depot how much it has. @throws as `allocate`; `no-such-allocation` */
  async look(signal: AbortSignal): Promise<void> {
    if (this.#deferredMs !== undefined) await this.#extend(this.#deferredMs, signal);
    this.note(await stateOf(this.allocated.write, signal));
  }

  /** Notes the state that the depot tells. */
  note({ offset, complete, sha256 }: UploadState): void {
    this.stored = Math.max(this.stored, offset);
    if (complete) this.sha256 = sha256 ?? '';
  }

  /** Gives up what is stored, as far as the depot can be reached. */
  giveUp(signal: AbortSignal): Promise<void> {
    return this.#release(this.allocated, signal);
  }

  /** Forgets where the bytes are stored. */
  forget(): Promise<void> {
    return this.#journal.remove();
  }

  async unlock(): Promise<void> {
    await this.#unlock?.();
    this.#unlock = undefined;
  }

  /** Takes up the space of an earlier upload. */
  async #takeUp(earlier: Allocated, wish: SpaceWish): Promise<void> {
    if (!wish.defers) return this.#keep(earlier, wish);
    this.#allocated = earlier;
    try {
      await this.#extend(wish.forMs, wish.signal);
    } catch (error) {
      const isFinal = isGone(error) || isMillraceError(error, 'allocation-refused');
      if (wish.signal.aborted || isFinal || !leavesDepot(error)) throw error;
      this.#deferredMs = wish.forMs;
    }
  }

  async #keep(allocated: Allocated, { forMs, retry, signal }: SpaceWish): Promise<void> {
    this.#allocated = allocated;
    await retry.run(() => this.#extend(forMs, signal));
  }

  /** Gives the lease its end, counted from now. */
  async #extend(forMs: Millis, signal: AbortSignal): Promise<void> {
    const { allocated } = this;
    const expires = await extend(allocated.manage, Math.ceil(forMs / 1000), signal);
    this.#allocated = { ...allocated, expires };
    this.#deferredMs = undefined;
    await this.#journal.write(this.#fileState, this.#allocated);
  }

  async #release({ manage }: Allocated, signal: AbortSignal): Promise<void> {
    await this.#journal.remove();
    await release(manage, signal).catch(() => {});
  }
}
