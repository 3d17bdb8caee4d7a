/**
 * Notices changes to an open file by other programs: deletion, replacement, truncation, writing.
 * The first three are noticed reliably; a write shows only as a new modification time while we have
 * not written.
 */

import { type FileHandle, stat } from 'node:fs/promises';
import { MillraceError } from '@millrace/shared/base/errors';

export class FileWatch {
  readonly #file: FileHandle;
  readonly #path: string;
  #length: number | undefined;
  /** Of our last write; undefined while we write. */
  #quietSince: bigint | undefined;
  #comparing: Promise<void> | undefined;
  #writes = 0;
  /** Another program has written to the file, or may have: some systems report the time late. */
  edited = false;

  constructor(file: FileHandle, path: string) {
    this.#file = file;
    this.#path = path;
  }

  /** The file has this length from now on, bytes; undefined: it grows. */
  expect(length: number | undefined): void {
    this.#length = length;
    this.#quietSince = undefined;
  }

  /** A write begins. @returns undefined, or a promise to wait for */
  beforeWrite(): Promise<void> | undefined {
    this.#writes++;
    if (this.#quietSince === undefined) return this.#comparing;
    this.#comparing = this.#compareTimes(this.#quietSince).finally(() => {
      this.#comparing = undefined;
    });
    this.#quietSince = undefined;
    return this.#comparing;
  }

  /** No write is under way, and all earlier ones are on disk. */
  async afterWrites(): Promise<void> {
    const writes = this.#writes;
    const { mtimeNs } = await this.#file.stat({ bigint: true });
    if (writes === this.#writes) this.#quietSince = mtimeNs;
  }

  /** @throws MillraceError `file-changed` where the path leads to another file, or to none */
  async check(): Promise<void> {
    const open = await this.#file.stat({ bigint: true });
    const named = await stat(this.#path, { bigint: true }).catch(() => undefined);
    if (named === undefined) throw new MillraceError('file-changed', 'it has been deleted');
    if (named.ino !== open.ino || named.dev !== open.dev) {
      throw new MillraceError('file-changed', 'it has been replaced');
    }
    if (this.#length !== undefined && open.size !== BigInt(this.#length)) {
      throw new MillraceError('file-changed', `it has ${open.size} bytes now`);
    }
    const since = this.#quietSince;
    if (since !== undefined && open.mtimeNs !== since) this.edited = true;
  }

  async #compareTimes(since: bigint): Promise<void> {
    if ((await this.#file.stat({ bigint: true })).mtimeNs !== since) this.edited = true;
  }
}
