/** Opens files that the user names, to read them. */

import { constants, type FileHandle, open } from 'node:fs/promises';
import { MillraceError } from '@millrace/shared/base/errors';

/**
 * Opens a file.
 *
 * @throws MillraceError `bad-option` if it cannot be read, or is a folder, a pipe or a device
 */
export async function openPlain(path: string): Promise<FileHandle> {
  let file: FileHandle;
  try {
    // Opening a pipe would otherwise wait for a program that writes to it.
    file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch (cause) {
    throw new MillraceError('bad-option', { code: 'not-readable', values: { path } }, { cause });
  }
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw new MillraceError('bad-option', { code: 'not-file', values: { path } });
}
