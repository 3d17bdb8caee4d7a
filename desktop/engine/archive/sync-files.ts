/** Makes files and folders that have been written survive a crash of the machine. */

import { open } from 'node:fs/promises';
import { syncFolder } from '@millrace/shared/node/files/replace-file';

/** Files that are synced at a time: the system writes what they have in one go. */
const AT_ONCE = 16;

/**
 * Syncs files.
 *
 * @throws Error of the file system; the signal's reason
 */
export function syncFiles(paths: readonly string[], signal: AbortSignal): Promise<void> {
  return each(paths, syncFile, signal);
}

/** Syncs folders, so that the names in them stay. @throws as `syncFiles` */
export function syncFolders(paths: readonly string[], signal: AbortSignal): Promise<void> {
  return each(paths, syncFolder, signal);
}

async function each(
  paths: readonly string[],
  sync: (path: string) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const left = paths.values();
  const work = async () => {
    for (const path of left) {
      signal.throwIfAborted();
      await sync(path);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

async function syncFile(path: string): Promise<void> {
  // Windows syncs only what may be written.
  const file = await open(path, process.platform === 'win32' ? 'r+' : 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
