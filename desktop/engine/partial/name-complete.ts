/** The step with which a partial file becomes the complete one. */

import { type FileHandle, lstat, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';
import { renameWithoutReplacing, syncFolder } from '../files/file-steps.ts';

/** Identity of a file that another program may move meanwhile. */
export interface FileIdentity {
  readonly ino: bigint;
  readonly dev: bigint;
}

/**
 * Cuts the data to the length of the file and brings them to the disk for good; closes them.
 *
 * @param length bytes
 */
export async function closeComplete(data: FileHandle, length: number): Promise<FileIdentity> {
  await data.truncate(length);
  await data.sync();
  const identity = await data.stat({ bigint: true });
  await data.close();
  return identity;
}

/**
 * Gives complete data their name, at once.
 *
 * @param own the data, as they were closed
 * @param replaces whether a file of that name is replaced
 * @throws MillraceError `file-changed` where others have put something in place of the data; `Error`
 *   of the file system
 */
export async function nameComplete(
  own: FileIdentity,
  dataPath: string,
  path: string,
  replaces: boolean,
): Promise<void> {
  if (replaces) await rename(dataPath, path);
  else await renameWithoutReplacing(dataPath, path);
  const named = await lstat(path, { bigint: true });
  if (named.ino !== own.ino || named.dev !== own.dev) {
    throw new MillraceError('file-changed', `somebody has put another file at ${dataPath}`);
  }
  await syncFolder(dirname(path));
}
