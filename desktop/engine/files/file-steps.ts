/** File operations that take more than one system call, or differ between systems. */

import { type FileHandle, link, mkdir, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';

/** Writes all bytes: the system may take fewer than it is given. */
export async function writeAll(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done);
    done += bytesWritten;
  }
}

/** Fills the buffer. @returns false if the file ends too early */
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
 * Makes a folder and the missing folders above it. Node's own function never returns if the system
 * refuses by reporting an existing parent as missing (as /proc does).
 *
 * @throws Error of the file system; ENOTDIR if a file has one of the names
 */
export async function makeFolder(path: string): Promise<void> {
  const missing: string[] = [];
  for (let at = path; !(await isFolder(at)); at = dirname(at)) missing.unshift(at);
  for (const folder of missing) {
    await mkdir(folder).catch(async (error: NodeJS.ErrnoException) => {
      // Another process may have made the folder meanwhile.
      if (error.code !== 'EEXIST' || !(await isFolder(folder))) throw error;
    });
  }
}

/**
 * Checks for a folder. @returns false if the path does not exist. @throws Error, also if it is not
 * a folder
 */
async function isFolder(path: string): Promise<boolean> {
  const there = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (there === undefined || there.isDirectory()) return there !== undefined;
  throw Object.assign(new Error(`${path} is not a folder`), { code: 'ENOTDIR', path });
}

/** Returns true if the path leads to the open file. */
export async function isAt(file: FileHandle, path: string): Promise<boolean> {
  const [open, named] = await Promise.all([
    file.stat({ bigint: true }),
    stat(path, { bigint: true }).catch(() => undefined),
  ]);
  return named !== undefined && named.ino === open.ino && named.dev === open.dev;
}

/**
 * Renames a file by means of a link, which cannot replace a file created meanwhile as a plain
 * rename would.
 */
export async function renameWithoutReplacing(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    // On file systems without links (FAT, some network shares): check, then rename.
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'].includes(code)) throw error;
    if (await exists(to))
      throw new MillraceError('file-exists', { code: 'path', values: { path: to } });
    return rename(from, to);
  }
  await rm(from);
}
