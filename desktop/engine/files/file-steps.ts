/** Steps on files that a single call of the system does not do, or not everywhere. */

import { type FileHandle, link, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';

/** Writes all of it: the system may take less than it is given. */
export async function writeAll(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done);
    done += bytesWritten;
  }
}

/** Fills the buffer. @returns false if the file ends before */
export async function readAll(file: FileHandle, into: Buffer, position: number): Promise<boolean> {
  for (let done = 0; done < into.length; ) {
    const { bytesRead } = await file.read(into, done, into.length - done, position + done);
    if (bytesRead === 0) return false;
    done += bytesRead;
  }
  return true;
}

export async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );
}

/**
 * Makes a folder, and missing ones above it. Node's own function never returns where the system
 * refuses by reporting an existing parent as missing (as /proc does).
 *
 * @throws Error of the file system; ENOTDIR where a file has one of the names
 */
export async function makeFolder(path: string): Promise<void> {
  const missing: string[] = [];
  for (let at = path; !(await isFolder(at)); at = dirname(at)) missing.unshift(at);
  for (const folder of missing) {
    await mkdir(folder).catch(async (error: NodeJS.ErrnoException) => {
      // Somebody was quicker.
      if (error.code !== 'EEXIST' || !(await isFolder(folder))) throw error;
    });
  }
}

/** @returns false if there is nothing. @throws Error, also if the path is not a folder */
async function isFolder(path: string): Promise<boolean> {
  const there = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (there === undefined || there.isDirectory()) return there !== undefined;
  throw Object.assign(new Error(`${path} is not a folder`), { code: 'ENOTDIR', path });
}

/** True if the path leads to the file that is open. */
export async function isAt(file: FileHandle, path: string): Promise<boolean> {
  const [open, named] = await Promise.all([
    file.stat({ bigint: true }),
    stat(path, { bigint: true }).catch(() => undefined),
  ]);
  return named !== undefined && named.ino === open.ino && named.dev === open.dev;
}

/** A rename would replace a file that has been created meanwhile; a link cannot. */
export async function renameWithoutReplacing(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    // File systems without links (FAT, some network shares): look, then rename.
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'].includes(code)) throw error;
    if (await exists(to)) throw new MillraceError('file-exists', to);
    return rename(from, to);
  }
  await rm(from);
}

/** Makes names in a folder survive the end of the machine. */
export async function syncFolder(path: string): Promise<void> {
  // Not every system can open a folder for this; the names are there either way.
  const folder = await open(path, 'r').catch(() => undefined);
  await folder?.sync().catch(() => {});
  await folder?.close();
}
