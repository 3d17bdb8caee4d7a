/**
 * Keeps folders that a list or a description names below the folder that the user has chosen, even
 * through links: `videos` in the download folder may be a link to anywhere.
 */

import { lstat, realpath } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, sep } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';
import { makeFolder } from './file-steps.ts';

/**
 * Makes a folder and the folders above it, without following links out of `within`. A folder that
 * is not below `within` even by name was chosen by the user later, and is made as it is.
 *
 * @param folder absolute
 * @param within absolute; undefined: anywhere
 * @throws MillraceError `file-not-writable` if a link leads out; Error of the file system
 */
export async function makeFolderWithin(folder: string, within: string | undefined): Promise<void> {
  if (within === undefined || !isBelow(folder, within)) return makeFolder(folder);
  await makeFolder(within);
  const root = await realpath(within);
  let at = within;
  for (const name of relative(within, folder).split(sep)) {
    if (name === '') continue;
    at = join(at, name);
    // A missing folder cannot be a link, and its parent has been checked.
    if (await isMissing(at)) await makeFolder(at);
    const real = await realpath(at);
    if (!isBelow(real, root)) {
      throw new MillraceError('file-not-writable', {
        code: 'leads-out',
        values: { path: at, folder: within },
      });
    }
  }
}

/** Makes the folder of a file, as `makeFolderWithin` does. */
export function makeFolderOf(path: string, within: string | undefined): Promise<void> {
  return makeFolderWithin(dirname(path), within);
}

/** Returns true for the folder itself, and for paths below it. */
function isBelow(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === '' || !(way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way));
}

async function isMissing(path: string): Promise<boolean> {
  return lstat(path).then(
    () => false,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return true;
      throw error;
    },
  );
}
