/**
 * Space that an owner has reserved for a guest, in place of one that the user's own token reserves. It
 * is claimed with the first bytes, and the claim is written down before, so that the same command
 * continues the upload.
 */

import { randomBytes } from 'node:crypto';
import { isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { formatBytes } from '@millrace/shared/base/units';
import { CLAIM_FIELD, type GuestSpace as Reserved } from '@millrace/shared/http/urls/guest-link';
import { create as createDisposition } from 'content-disposition';
import type { FileState } from '../archive/upload-source.ts';
import { type Allocated, stateOf } from './depot-client.ts';
import type { Retry } from './retry.ts';
import type { UploadJournal } from './upload-journal.ts';

const CLAIM_BYTES = 24;

export interface GuestSpaceOptions {
  readonly journal: UploadJournal;
  readonly fileState: FileState;
  /** Spaces that the link names. */
  readonly spaces: readonly Reserved[];
  /** Name that the file gets. */
  readonly name: string;
  readonly retry: Retry;
  readonly signal: AbortSignal;
}

export class GuestSpace {
  readonly #options: GuestSpaceOptions;
  #claim = '';

  constructor(options: GuestSpaceOptions) {
    this.#options = options;
  }

  /** Fields of all requests for the upload: whose it is, and the name of the file. */
  get fields(): Record<string, string> {
    const name = createDisposition(this.#options.name, { type: 'attachment' });
    return { [CLAIM_FIELD]: this.#claim, 'content-disposition': name };
  }

  /**
   * Takes up the space that an earlier process has claimed for the file, or claims one.
   *
   * @throws MillraceError `upload-running` if others use all spaces; `upload-too-long`; as `stateOf`
   */
  async take(): Promise<Allocated> {
    const { journal, fileState, spaces } = this.#options;
    const earlier = await journal.read(fileState);
    if (earlier?.isSame === true && earlier.claim !== undefined) {
      const { write } = earlier.allocated;
      this.#claim = earlier.claim;
      const isNamed = spaces.some((space) => space.write === write);
      if (isNamed && (await this.#isOurs(write))) return earlier.allocated;
    }
    for (const { read, write } of spaces) {
      this.#claim = '';
      if (!(await this.#isOurs(write))) continue;
      this.#claim = randomBytes(CLAIM_BYTES).toString('base64url');
      // Guests have no right to manage, and are told no end.
      const allocated = { read, write, manage: '', expires: '' };
      await journal.write(fileState, allocated, this.#claim);
      return allocated;
    }
    throw new MillraceError('upload-running', 'all uploads that the link permits have been made');
  }

  /** Forgets the space: it cannot be given back. */
  async giveUp(): Promise<void> {
    await this.#options.journal.remove();
  }

  /** Returns true for a space that has this claim, or without a claim one that nobody uses. */
  async #isOurs(write: string): Promise<boolean> {
    const { retry, signal, fileState } = this.#options;
    const fields: Record<string, string> = this.#claim === '' ? {} : this.fields;
    try {
      const { offset, maxSize = Infinity } = await retry.run(() => stateOf(write, signal, fields));
      // Before it is claimed: a file that does not fit uses no upload up.
      if (fileState.bytes > maxSize) {
        throw new MillraceError('upload-too-long', `there is room for ${formatBytes(maxSize)}`);
      }
      return this.#claim !== '' || offset === 0;
    } catch (error) {
      if (isMillraceError(error, 'upload-running')) return false;
      throw error;
    }
  }
}
