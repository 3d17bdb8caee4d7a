/** Turns a partial file into the complete file. */

import { type FileHandle, lstat, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';
import { syncFolder } from '@millrace/shared/node/files/replace-file';
import { renameWithoutReplacing } from '../files/file-steps.ts';

/** Identity of a file, to recognise it after another program may have moved it. */
export interface FileIdentity {
  readonly ino: bigint;
  readonly dev: bigint;
}

/**
 * Cuts the data to the length of the file, flushes them to the disk, and closes them.
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
 * Gives complete data their final name in one step.
 *
 * @param own identity of the data when they were closed
 * @param replaces whether an existing file of that name is replaced
 * @throws MillraceError `file-changed` if another program put a file in place of the data; `Error`
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
    throw new MillraceError('file-changed', {
      code: 'another-file-at',
      values: { path: dataPath },
    });
  }
  await syncFolder(dirname(path));
}
