/**
 * Reaches into a folder without following links, even while another program swaps a folder for a
 * link. On Linux each folder on the way is opened, and the next one is looked up in the open one
 * (like openat(2), by way of /proc/self/fd), so that the checked folder is the one used. On other
 * systems each folder is checked just before its use, so a swap between check and use goes
 * unnoticed.
 */

import { closeSync, constants, existsSync, fstatSync, lstatSync, openSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';
import { foldersAbove } from '@millrace/shared/sync/sync-path';

/** Flag for a handle that looks up names without the permission to list (open(2), x86 and ARM). */
const O_PATH = 0o10000000;
const { O_DIRECTORY, O_NOFOLLOW } = constants;
const CAN_PIN = process.platform === 'linux' && existsSync('/proc/self/fd');

/**
 * Runs a function on the entry that a path names.
 *
 * @param root real path of the folder
 * @param path relative to the root, with `/` between names
 * @param act gets a path for the file system, whose last name may be a link
 * @throws MillraceError `file-not-writable` if a folder on the way is a link or no folder; the
 *   error of `act`
 */
export async function within<T>(
  root: string,
  path: string,
  act: (full: string) => Promise<T>,
): Promise<T> {
  if (!CAN_PIN) {
    for (const folder of foldersAbove(path)) {
      if (!lstatSync(join(root, folder)).isDirectory()) throw noFolder(folder);
    }
    return act(join(root, path));
  }
  const folder = openAbove(root, path);
  try {
    return await act(inside(folder, nameOf(path)));
  } finally {
    closeSync(folder);
  }
}

export interface PinnedFolder {
  /** Path that leads to the same folder even if its name changes; works in child processes too. */
  readonly path: string;
  close(): void;
}

/**
 * Keeps a folder of our own open.
 *
 * @throws MillraceError `file-not-writable` for a link, or another user's folder; errors of the
 *   file system
 */
export function pinFolder(path: string): PinnedFolder {
  if (!CAN_PIN) return { path, close() {} };
  const folder = openSync(path, O_PATH | O_DIRECTORY | O_NOFOLLOW);
  const { uid } = fstatSync(folder);
  if (uid === process.getuid?.() || uid === lstatSync(dirname(path)).uid) {
    return { path: `/proc/${process.pid}/fd/${folder}`, close: () => closeSync(folder) };
  }
  closeSync(folder);
  throw new MillraceError('file-not-writable', { code: 'somebody-elses', values: { path } });
}

/** Opens the folder that holds the path's entry. @returns its descriptor */
function openAbove(root: string, path: string): number {
  let folder = openSync(root, O_PATH | O_DIRECTORY);
  for (const above of foldersAbove(path)) {
    const before = folder;
    try {
      folder = openSync(inside(before, nameOf(above)), O_PATH | O_DIRECTORY | O_NOFOLLOW);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      throw code === 'ENOTDIR' || code === 'ELOOP' ? noFolder(above) : error;
    } finally {
      closeSync(before);
    }
  }
  return folder;
}

const inside = (folder: number, name: string) => `/proc/self/fd/${folder}/${name}`;

const nameOf = (path: string) => path.slice(path.lastIndexOf('/') + 1);

function noFolder(path: string): MillraceError {
  return new MillraceError('file-not-writable', { code: 'not-folder', values: { path } });
}
