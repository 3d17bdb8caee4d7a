/**
 * Reaching into a folder without following links, also where another program swaps a folder for a
 * link while that goes on: on Linux each folder on the way is opened and the next is looked up in the
 * one that is open (as openat(2) does, by way of /proc/self/fd), so that what has been looked at is
 * what is used. Elsewhere each folder is looked at immediately before, which leaves a moment.
 */

import { constants, existsSync } from 'node:fs';
import { type FileHandle, lstat, open } from 'node:fs/promises';
import { join } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';
import { foldersAbove } from '@millrace/shared/sync/sync-path';

/** A handle for looking things up, which takes no permission to list them (open(2), x86 and ARM). */
const O_PATH = 0o10000000;
const { O_DIRECTORY, O_NOFOLLOW } = constants;
const CAN_PIN = process.platform === 'linux' && existsSync('/proc/self/fd');

/**
 * Does something with what a path names.
 *
 * @param root real path of the folder
 * @param path relative to it, `/` between names
 * @param act gets a path for the file system, whose last name may be a link
 * @throws MillraceError `file-not-writable` where a folder on the way is none, or a link; what `act`
 *   throws
 */
export async function within<T>(
  root: string,
  path: string,
  act: (full: string) => Promise<T>,
): Promise<T> {
  if (!CAN_PIN) {
    for (const folder of foldersAbove(path)) {
      if (!(await lstat(join(root, folder))).isDirectory()) throw noFolder(folder);
    }
    return act(join(root, path));
  }
  const name = path.slice(path.lastIndexOf('/') + 1);
  let folder = await open(root, O_PATH | O_DIRECTORY);
  try {
    for (const above of foldersAbove(path)) {
      const next = await openIn(folder, above);
      await folder.close();
      folder = next;
    }
    return await act(inside(folder, name));
  } finally {
    await folder.close();
  }
}

async function openIn(folder: FileHandle, path: string): Promise<FileHandle> {
  const name = path.slice(path.lastIndexOf('/') + 1);
  try {
    return await open(inside(folder, name), O_PATH | O_DIRECTORY | O_NOFOLLOW);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw code === 'ENOTDIR' || code === 'ELOOP' ? noFolder(path) : error;
  }
}

const inside = ({ fd }: FileHandle, name: string) => `/proc/self/fd/${fd}/${name}`;

function noFolder(path: string): MillraceError {
  return new MillraceError('file-not-writable', `${path} is no folder`);
}
