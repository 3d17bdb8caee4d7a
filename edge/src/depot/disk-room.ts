/** The disk of a depot: once it was full, nothing new is begun until there is room; and its faults. */

import { statfs } from 'node:fs/promises';
import { MillraceError } from '@millrace/shared/base/errors';
import type { Log } from '@millrace/shared/base/log';

/** Least free bytes for something new after the disk was full, besides its own. */
const LEAST_FREE_BYTES = 1024 * 1024;
const FULL = 'the disk of the depot is full';
/** Codes of disks that are broken or gone, or that the system has made read-only because of that. */
const BROKEN = new Set(['EIO', 'EROFS', 'ENXIO', 'ENODEV', 'ESTALE', 'EREMOTEIO', 'EUCLEAN']);

export class DiskRoom {
  readonly #dir: string;
  readonly #log: Log;
  #wasFull = false;

  constructor(dir: string, log: Log) {
    this.#dir = dir;
    this.#log = log;
  }

  /** Turns an error of the disk into one for a client. A full disk is noted. */
  errorOf(error: unknown): unknown {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (BROKEN.has(code ?? '')) {
      this.#log.error({ err: error }, 'the disk of the depot has failed');
      return new MillraceError('depot-disk-failed', `${code}, ${syscall}`, { cause: error });
    }
    if (!isDiskFull(error)) return error;
    this.#wasFull = true;
    this.#log.error({ err: error }, FULL);
    return new MillraceError('allocation-refused', FULL, { cause: error });
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
      throw new MillraceError('allocation-refused', FULL);
    }
    this.#wasFull = false;
  }
}

/** Returns true for errors that say that a disk, or someone's part of it, is full. */
function isDiskFull(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOSPC' || code === 'EDQUOT';
}
