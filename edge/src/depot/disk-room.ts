/** Room on the disk of a depot: once the disk was full, nothing new is begun until there is some. */

import { statfs } from 'node:fs/promises';
import { MillraceError } from '@millrace/shared/base/errors';

/** Least free bytes for something new after the disk was full, besides its own. */
const LEAST_FREE_BYTES = 1024 * 1024;

export class DiskRoom {
  readonly #dir: string;
  #wasFull = false;

  constructor(dir: string) {
    this.#dir = dir;
  }

  /** Notes that a write has failed for want of room. */
  onFull(): void {
    this.#wasFull = true;
  }

  /**
   * Checks that there is room for new bytes, if the disk was full.
   *
   * @throws MillraceError `allocation-refused`
   */
  async check(bytes: number): Promise<void> {
    if (!this.#wasFull) return;
    const { bavail, bsize } = await statfs(this.#dir);
    if (bavail * bsize < bytes + LEAST_FREE_BYTES) {
      throw new MillraceError('allocation-refused', 'the disk of the depot is full');
    }
    this.#wasFull = false;
  }
}

/** Returns true for errors that say that a disk, or someone's part of it, is full. */
export function isDiskFull(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOSPC' || code === 'EDQUOT';
}
