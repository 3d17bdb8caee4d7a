/** Finds out how much room there is for a file, if the system can tell. */

import { statfs } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/** A file system's report, in blocks of `bsize` bytes. */
export interface SpaceReport {
  readonly bsize: bigint;
  readonly blocks: bigint;
  /**
   * Blocks that this user may still fill, without reserves and, if the system knows them, quotas.
   */
  readonly bavail: bigint;
}

/**
 * Returns how many bytes can still be written where `path` is or will be.
 *
 * @returns undefined if that is not known: trying is better than refusing for a wrong reason
 */
export async function freeBytes(path: string): Promise<number | undefined> {
  for (let folder = resolve(path); ; folder = dirname(folder)) {
    try {
      return reportedFreeBytes(await statfs(folder, { bigint: true }));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // A missing folder will be made in its nearest existing ancestor.
      const missing = code === 'ENOENT' || code === 'ENOTDIR';
      if (!missing || dirname(folder) === folder) return undefined;
    }
  }
}

/**
 * Returns the free bytes of a report.
 *
 * @returns undefined if the report makes no sense, as with some network drives
 */
export function reportedFreeBytes(report: SpaceReport): number | undefined {
  const { bsize, blocks, bavail } = report;
  // No blocks: a FUSE or WebDAV drive that does not know its size. More free blocks than blocks, or
  // a negative number: a counter that has overflowed.
  if (bsize <= 0n || blocks <= 0n || bavail < 0n || bavail > blocks) return undefined;
  return Number(bavail * bsize);
}
