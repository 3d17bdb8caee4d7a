/** Disk space for a growing file. */

import { type FileHandle, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';
import { fileError } from '../files/file-error.ts';

/** Smallest share of the file's size to reserve on disk for its journal. */
const JOURNAL_SHARE = 1 / 4096;
const JOURNAL_ROOM_BYTES = 256 * 1024;

/**
 * Compares the space a download needs with the free space.
 *
 * @param path of the file
 * @param bytes still to be stored
 * @returns bytes needed for data and journal, and bytes free on the disk
 * @throws MillraceError of the file system
 */
export async function roomFor(
  path: string,
  bytes: number,
): Promise<{ needed: number; free: number }> {
  const needed = bytes + JOURNAL_ROOM_BYTES + Math.ceil(bytes * JOURNAL_SHARE);
  try {
    return { needed, free: await freeBytes(path) };
  } catch (error) {
    throw fileError(error, path);
  }
}

/**
 * Sets the length of a file, after a check that the disk has room for it: the user learns now, not
 * hours later, that the disk is too small.
 *
 * @param path of the file, or of another file in the same folder
 * @throws MillraceError `disk-full`; Error of the file system
 */
export async function makeRoom(file: FileHandle, path: string, length: number): Promise<void> {
  const { blocks } = await file.stat();
  const free = await freeBytes(path);
  const needed = length - blocks * 512;
  if (needed > free) {
    throw new MillraceError('disk-full', {
      code: 'room-needed',
      values: { neededBytes: needed, freeBytes: free },
    });
  }
  await file.truncate(length);
}

async function freeBytes(path: string): Promise<number> {
  const info = await statfs(dirname(path));
  return info.bavail * info.bsize;
}
