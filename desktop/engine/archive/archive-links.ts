/** Links of an archive that is unpacked: none of them leads out of its folder. */

import { constants } from 'node:fs';
import { copyFile, link, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { staysInside, targetFault, type Unpackings } from '@millrace/shared/archive/link-target';
import { MillraceError } from '@millrace/shared/base/errors';

/** Errors of disks that have no hard links, or no more of them for a file. */
const NO_LINKS: ReadonlySet<string> = new Set([
  'EPERM',
  'ENOTSUP',
  'EOPNOTSUPP',
  'ENOSYS',
  'EMLINK',
]);

/**
 * Makes the symbolic links.
 *
 * @param root folder with all else that is in the archive
 * @param only the one folder that all of it is in; empty: there is no such folder
 * @returns that folder if no link leads out of it, else an empty text: the archive must stay as a whole
 * @throws MillraceError `bad-archive` if a link leads out of the root; none has been made then
 */
export async function makeLinks(root: string, only: string, found: Unpackings): Promise<string> {
  const { links } = found;
  for (const [path, target] of links) {
    const fault = targetFault(target);
    const isInside = fault === undefined && staysInside(path, '', found);
    if (!isInside) throw refused(path, fault ?? 'it is a link that leads out');
  }
  for (const [path, target] of links) {
    await symlink(target, join(root, path)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
      throw refused(path, 'this disk takes its name for that of another');
    });
  }
  if (only === '') return '';
  return [...links.keys()].every((path) => staysInside(path, `${only}/`, found)) ? only : '';
}

/** Makes a hard link, or a copy on a disk that has no such links. @returns bytes copied */
export async function linkFile(from: string, to: string): Promise<number> {
  try {
    await link(from, to);
    return 0;
  } catch (error) {
    if (!NO_LINKS.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
    await copyFile(from, to, constants.COPYFILE_EXCL);
    return (await stat(to)).size;
  }
}

function refused(path: string, fault: string): MillraceError {
  return new MillraceError('bad-archive', `${JSON.stringify(path)}: ${fault}`);
}
