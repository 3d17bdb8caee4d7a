/** Moves a complete file to another folder, without replacing any file there. */

import { createHash } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import { copyFile, lstat, open, rm, utimes } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';
import { syncFolder } from '@millrace/shared/node/files/replace-file';
import { fileError } from '../files/file-error.ts';
import { makeFolder, renameWithoutReplacing } from '../files/file-steps.ts';
import { numberedPath } from '../files/numbered-path.ts';

const MAX_NUMBER = 9999;

/**
 * Moves a file. To another disk it is copied; the copy is compared before the file is deleted.
 *
 * @param path absolute
 * @param folder absolute; made if it is missing
 * @returns the new path, with a number if the name is taken
 * @throws MillraceError of files; `interrupted`. The file stays where it is then
 */
export async function moveFile(path: string, folder: string, signal: AbortSignal): Promise<string> {
  if (dirname(path) === folder) return path;
  try {
    if (!(await lstat(path)).isFile())
      throw new MillraceError('file-changed', `${path} is not a plain file`);
    await makeFolder(folder);
    const moved = await renamed(path, path, folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EXDEV') throw error;
      return copied(path, folder, signal);
    });
    await syncFolder(folder);
    return moved;
  } catch (error) {
    throw fileError(error, path);
  }
}

/** Gives a file the first free name in the folder. @param named path whose name it gets */
async function renamed(path: string, named: string, folder: string): Promise<string> {
  const wanted = join(folder, basename(named));
  for (let number = 0; number <= MAX_NUMBER; number++) {
    const to = numberedPath(wanted, number);
    try {
      await renameWithoutReplacing(path, to);
      return to;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
  throw new MillraceError('file-exists', wanted);
}

async function copied(path: string, folder: string, signal: AbortSignal): Promise<string> {
  const copy = join(folder, `.${basename(path)}.millrace-move`);
  try {
    const { atime, mtime } = await lstat(path);
    // The system's copy also keeps the mark that the file comes from the network.
    await copyFile(path, copy, constants.COPYFILE_FICLONE);
    const file = await open(copy, 'r+');
    await file.sync().finally(() => file.close());
    if ((await digestOf(path, signal)) !== (await digestOf(copy, signal)))
      throw new MillraceError('file-changed', `${path} changed while it was copied`);
    await utimes(copy, atime, mtime);
    const to = await renamed(copy, path, folder);
    await rm(path);
    return to;
  } finally {
    await rm(copy, { force: true });
  }
}

async function digestOf(path: string, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of createReadStream(path, { highWaterMark: 2 ** 20 })) {
    if (signal.aborted) throw new MillraceError('interrupted');
    hash.update(piece as Buffer);
  }
  return hash.digest('hex');
}
