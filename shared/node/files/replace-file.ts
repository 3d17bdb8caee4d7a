/** Small files that are written as a whole, and names that survive a crash of the machine. */

import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Codes of systems that cannot open or sync a folder: Windows, some network shares. */
const CANNOT_SYNC = new Set(['EACCES', 'EBADF', 'EINVAL', 'EISDIR', 'ENOTSUP', 'EPERM']);

/** Name that the new text has until it is whole. */
export const newName = (path: string) => `${path}.new`;

/**
 * Replaces a file: readers see the old text or the new one, and so does who comes after a crash of
 * the machine. Only one process may write the file at a time. A process that is killed leaves its
 * text under `newName`, where the next one writes over it.
 *
 * @param mode of the file
 * @throws Error of the file system; the old text is still there unless the folder cannot be synced
 */
export async function replaceFile(path: string, text: string, mode = 0o600): Promise<void> {
  const aside = newName(path);
  // Never through a link, nor with the mode of what was left there.
  await rm(aside, { force: true });
  try {
    const file = await open(aside, 'wx', mode);
    try {
      await file.writeFile(text);
      await file.datasync();
    } finally {
      await file.close();
    }
    await rename(aside, path);
  } catch (error) {
    await rm(aside, { force: true }).catch(() => {});
    throw error;
  }
  await syncFolder(dirname(path));
}

/**
 * Makes the names in a folder survive a crash of the machine, if the system can do that for folders.
 *
 * @throws Error of the file system, if it can and fails
 */
export async function syncFolder(path: string): Promise<void> {
  try {
    const folder = await open(path, 'r');
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  } catch (error) {
    if (!CANNOT_SYNC.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}
