/**
 * Opens our own files beside the user's, so that another user with write access to the folder
 * cannot redirect us with a link, a pipe, or a file of their own in place of ours.
 */

import { constants } from 'node:fs';
import { type FileHandle, lstat, open, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';

const { O_RDWR, O_RDONLY, O_APPEND, O_CREAT, O_EXCL } = constants;
/** Windows has neither flag: there, links are detected by name. */
const NO_LINK = constants.O_NOFOLLOW ?? 0;
/** Opening a pipe must not block. */
const NO_WAIT = constants.O_NONBLOCK ?? 0;

/**
 * Opens a file for reading and writing, and creates it if it does not exist.
 *
 * @throws MillraceError `file-not-writable` for anything but a plain file with one name that
 *   belongs to us; Error of the file system, ELOOP for a link
 */
export async function openOwn(path: string): Promise<FileHandle> {
  try {
    return await open(path, O_RDWR | O_CREAT | O_EXCL | NO_LINK, 0o666);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return checked(await openThere(path, O_RDWR), path);
}

/** Opens an existing file of ours for reading. @throws as `openOwn`; ENOENT */
export async function openOwnToRead(path: string): Promise<FileHandle> {
  return checked(await openThere(path, O_RDONLY), path);
}

/**
 * Makes an empty file in place of any other of that name. All writes go to its end, wherever that
 * is by then. @throws Error of the file system
 */
export async function makeOwnLog(path: string): Promise<FileHandle> {
  await rm(path, { force: true });
  return open(path, O_RDWR | O_APPEND | O_CREAT | O_EXCL | NO_LINK, 0o666);
}

async function openThere(path: string, flags: number): Promise<FileHandle> {
  if (NO_LINK === 0 && (await lstat(path)).isSymbolicLink()) throw notOwn(path);
  return open(path, flags | NO_LINK | NO_WAIT);
}

async function checked(file: FileHandle, path: string): Promise<FileHandle> {
  try {
    const status = await file.stat();
    const isPlain = status.isFile() && status.nlink <= 1;
    if (!isPlain || !(await isOurs(status.uid, path))) throw notOwn(path);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/**
 * Checks the owner. Network file systems assign all files to one user: the owner of the folder owns
 * the file too.
 */
async function isOurs(uid: number, path: string): Promise<boolean> {
  const me = process.getuid?.();
  return me === undefined || uid === me || uid === (await stat(dirname(path))).uid;
}

function notOwn(path: string): MillraceError {
  return new MillraceError('file-not-writable', { code: 'not-yours', values: { path } });
}
