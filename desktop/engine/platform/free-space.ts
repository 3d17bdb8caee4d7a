/** How much room there is for a file, where the system can say. */

import { statfs } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/** A file system's report, in blocks of `bsize` bytes. */
export interface SpaceReport {
  readonly bsize: bigint;
  readonly blocks: bigint;
  /** Free for this user: reserves and, where the system knows them, quotas left out. */
  readonly bavail: bigint;
}

/**
 * Bytes that can still be written where `path` is or will be.
 *
 * @returns undefined where that is not known: better to try than to refuse for a wrong reason
 */
export async function freeBytes(path: string): Promise<number | undefined> {
  for (let folder = resolve(path); ; folder = dirname(folder)) {
    try {
      return reportedFreeBytes(await statfs(folder, { bigint: true }));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // A folder that is not there yet will be made in the nearest one that is.
      const missing = code === 'ENOENT' || code === 'ENOTDIR';
      if (!missing || dirname(folder) === folder) return undefined;
    }
  }
}

/** @returns undefined where the report makes no sense, as with some network drives */
export function reportedFreeBytes(report: SpaceReport): number | undefined {
  const { bsize, blocks, bavail } = report;
  // No blocks: FUSE and WebDAV drives that do not know. More free than total, or negative: counters
  // that have overflowed.
  if (bsize <= 0n || blocks <= 0n || bavail < 0n || bavail > blocks) return undefined;
  return Number(bavail * bsize);
}
