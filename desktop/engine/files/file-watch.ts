/**
 * Detects changes to an open file by other programs: deletion, replacement, truncation, writing.
 * The first three are detected reliably; a write shows only as a new modification time while we do
 * not write.
 */

import { type FileHandle, stat } from 'node:fs/promises';
import { MillraceError } from '@millrace/shared/base/errors';

export class FileWatch {
  readonly #file: FileHandle;
  readonly #path: string;
  #length: number | undefined;
  /** Modification time after our last write, in nanoseconds; undefined while we write. */
  #quietSince: bigint | undefined;
  #comparing: Promise<void> | undefined;
  #writes = 0;
  /** True if another program wrote to the file, or may have: some systems report the time late. */
  edited = false;

  constructor(file: FileHandle, path: string) {
    this.#file = file;
    this.#path = path;
  }

  /** Sets the length that the file must have from now on, in bytes; undefined: it grows. */
  expect(length: number | undefined): void {
    this.#length = length;
    this.#quietSince = undefined;
  }

  /** Notes that a write begins. @returns undefined, or a promise to wait for first */
  beforeWrite(): Promise<void> | undefined {
    this.#writes++;
    if (this.#quietSince === undefined) return this.#comparing;
    this.#comparing = this.#compareTimes(this.#quietSince).finally(() => {
      this.#comparing = undefined;
    });
    this.#quietSince = undefined;
    return this.#comparing;
  }

  /** Notes that no write is under way, and that all earlier ones are on disk. */
  async afterWrites(): Promise<void> {
    const writes = this.#writes;
    const { mtimeNs } = await this.#file.stat({ bigint: true });
    if (writes === this.#writes) this.#quietSince = mtimeNs;
  }

  /**
   * Checks the file. @throws MillraceError `file-changed` if it was deleted or replaced, or its
   * length differs
   */
  async check(): Promise<void> {
    const open = await this.#file.stat({ bigint: true });
    const named = await stat(this.#path, { bigint: true }).catch(() => undefined);
    if (named === undefined) throw new MillraceError('file-changed', { code: 'was-deleted' });
    if (named.ino !== open.ino || named.dev !== open.dev) {
      throw new MillraceError('file-changed', { code: 'was-replaced' });
    }
    if (this.#length !== undefined && open.size !== BigInt(this.#length)) {
      throw new MillraceError('file-changed', {
        code: 'has-bytes-now',
        values: { hasBytes: Number(open.size) },
      });
    }
    const since = this.#quietSince;
    if (since !== undefined && open.mtimeNs !== since) this.edited = true;
  }

  async #compareTimes(since: bigint): Promise<void> {
    if ((await this.#file.stat({ bigint: true })).mtimeNs !== since) this.edited = true;
  }
}
