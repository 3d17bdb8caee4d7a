/** Checks before an upload that its exNode can be written. */

import { access, constants } from 'node:fs/promises';
import { dirname } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';
import { fileError } from '../../../engine/files/file-error.ts';
import { exists } from '../../../engine/files/file-steps.ts';

/**
 * Checks that a file can be written.
 *
 * @throws MillraceError `file-exists`; `file-not-writable` for a folder that is missing or closed
 */
export async function checkFree(path: string, overwrites: boolean): Promise<void> {
  try {
    if ((await exists(path)) && !overwrites) throw new MillraceError('file-exists', path);
    await access(dirname(path), constants.W_OK);
  } catch (error) {
    throw fileError(error, path);
  }
}
