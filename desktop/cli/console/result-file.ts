/** Files that commands write for their user, into folders that hold other files of the user. */

import { randomBytes } from 'node:crypto';
import { open, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { syncFolder } from '@millrace/shared/node/files/replace-file';
import { fileError } from '../../engine/files/file-error.ts';
import { renameWithoutReplacing } from '../../engine/files/file-steps.ts';

export interface ResultFileOptions {
  /** True if a file of that name is replaced. */
  readonly overwrites: boolean;
  /** Mode of the file, before the user's mask. */
  readonly mode?: number;
}

/**
 * Writes a file that appears only once it is complete, and touches no other file. A device or a pipe
 * of that name is written to.
 *
 * @throws MillraceError `file-exists`, `file-not-writable`, `disk-full`; what was there is still there
 */
export async function writeResult(
  path: string,
  text: string,
  { overwrites, mode = 0o666 }: ResultFileOptions,
): Promise<void> {
  try {
    const there = await stat(path).catch(() => undefined);
    if (overwrites && there?.isFile() === false) return await write(path, text, 'w', mode);
    // A link of the user's stays one.
    const target = overwrites && there !== undefined ? await realpath(path) : path;
    const aside = join(dirname(target), `.millrace-${randomBytes(8).toString('hex')}.new`);
    await write(aside, text, 'wx', mode);
    await (overwrites ? rename(aside, target) : renameWithoutReplacing(aside, target)).catch(
      async (error: unknown) => {
        await rm(aside, { force: true });
        throw error;
      },
    );
    await syncFolder(dirname(target));
  } catch (error) {
    throw fileError(error, path);
  }
}

async function write(path: string, text: string, flag: string, mode: number): Promise<void> {
  const file = await open(path, flag, mode);
  try {
    await file.writeFile(text);
    // A device cannot be synced.
    if (flag === 'wx') await file.datasync();
  } catch (error) {
    if (flag === 'wx') await rm(path, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}
