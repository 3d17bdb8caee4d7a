/** Moves a complete file to another folder, without replacing any file there. */

import { createHash } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import { copyFile, lstat, open, rm, utimes } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Digest } from '@millrace/shared/base/digest';
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
  const there = await lstat(path).catch((error) => {
    throw fileError(error, path);
  });
  if (!there.isFile())
    throw new MillraceError('file-changed', { code: 'not-plain', values: { path } });
  try {
    await makeFolder(folder);
    const moved = await renamed(path, path, folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EXDEV') throw error;
      return copied(path, folder, signal);
    });
    await syncFolder(folder);
    return moved;
  } catch (error) {
    throw fileError(error, folder);
  }
}

/**
 * Finds the file that an interrupted move has brought to the folder, by its digest, and deletes the old
 * one, if that is still there.
 *
 * @returns its path; undefined if there is no such file
 */
export async function movedBefore(
  path: string,
  folder: string,
  { length, digest }: { readonly length?: number | undefined; readonly digest: Digest | undefined },
  signal: AbortSignal,
): Promise<string | undefined> {
  const wanted = join(folder, basename(path));
  if (wanted === path) return undefined;
  for (let number = 0; number <= MAX_NUMBER; number++) {
    const to = numberedPath(wanted, number);
    const there = await lstat(to).catch(() => undefined);
    if (there === undefined) return undefined;
    if (digest === undefined || !there.isFile() || there.size !== length) continue;
    const { algorithm, hex } = digest;
    if ((await digestOf(to, signal, algorithm)) !== hex) continue;
    await rm(path, { force: true });
    return to;
  }
  return undefined;
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
  throw new MillraceError('file-exists', { code: 'path', values: { path: wanted } });
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
      throw new MillraceError('file-changed', { code: 'changed-in-copy', values: { path } });
    await utimes(copy, atime, mtime);
    const to = await renamed(copy, path, folder);
    await rm(path);
    return to;
  } finally {
    await rm(copy, { force: true });
  }
}

async function digestOf(path: string, signal: AbortSignal, algorithm = 'sha256'): Promise<string> {
  const hash = createHash(algorithm);
  for await (const piece of createReadStream(path, { highWaterMark: 2 ** 20 })) {
    if (signal.aborted) throw new MillraceError('interrupted');
    hash.update(piece as Buffer);
  }
  return hash.digest('hex');
}
