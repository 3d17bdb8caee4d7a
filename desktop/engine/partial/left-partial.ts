/** Deletes and moves the partial file of a download that no longer runs. */

import { constants } from 'node:fs';
import { copyFile, rename, rm, stat } from 'node:fs/promises';
import { isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { fileError } from '../files/file-error.ts';
import { lockFile, removeLeftLock } from '../files/file-lock.ts';
import { exists } from '../files/file-steps.ts';
import {
  DATA_SUFFIX,
  JOURNAL_SUFFIX,
  LOCK_SUFFIX,
  NEW_JOURNAL_SUFFIX,
} from '../files/partial-names.ts';
import { readJournal } from './journal-file.ts';

/** Unit of `stat`'s `blocks`, in bytes. Holes of a partial file take no blocks. */
const BLOCK_BYTES = 512;
const SUFFIXES = [DATA_SUFFIX, JOURNAL_SUFFIX];

/**
 * Deletes the partial file and its journal unless they are in use, and a lock that a killed process
 * left.
 *
 * @param path of the complete file
 * @param onlyOf URLs: a partial file whose journal names another URL stays; undefined: none stays
 * @throws Error of the file system
 */
export async function removePartial(path: string, onlyOf?: readonly string[]): Promise<void> {
  if (!(await isThere(path))) return removeLeftLock(path + LOCK_SUFFIX);
  let unlock: () => Promise<void>;
  try {
    unlock = await lockFile(path + LOCK_SUFFIX);
  } catch (error) {
    if (isMillraceError(error, 'file-in-use')) return;
    throw error;
  }
  try {
    const url = (await readJournal(path + JOURNAL_SUFFIX))?.header.url;
    if (onlyOf !== undefined && (url === undefined || !onlyOf.includes(url))) return;
    // A killed process may have been rewriting the journal.
    for (const suffix of [...SUFFIXES, NEW_JOURNAL_SUFFIX])
      await rm(path + suffix, { force: true });
  } finally {
    await unlock();
  }
}

/**
 * Deletes the journal that a crash left beside a complete file, unless it is in use.
 *
 * @param path of the complete file
 * @param onlyOf URLs: a journal of any other URL stays
 * @throws Error of the file system
 */
export async function removeJournal(path: string, onlyOf: readonly string[]): Promise<void> {
  // A journal with data beside it belongs to an unfinished download.
  if (!(await exists(path + DATA_SUFFIX))) await removePartial(path, onlyOf);
}

/**
 * Moves the partial file and its journal to another path, where the download resumes. Does nothing
 * if there is no partial file.
 *
 * @param onlyOf URLs: a partial file whose journal names another URL stays; undefined: none stays
 * @returns bytes that the partial file takes on disk; 0 if nothing was moved
 * @throws MillraceError `file-exists` if the other path has a partial file, `file-in-use`,
 *   `disk-full`, `file-not-writable`
 */
export async function movePartial(
  path: string,
  to: string,
  onlyOf?: readonly string[],
): Promise<number> {
  if (path === to || !(await isThere(path))) return 0;
  const unlock = await lockFile(path + LOCK_SUFFIX);
  try {
    const url = (await readJournal(path + JOURNAL_SUFFIX))?.header.url;
    if (onlyOf !== undefined && (url === undefined || !onlyOf.includes(url))) return 0;
    if (await isThere(to))
      throw new MillraceError('file-exists', { code: 'path', values: { path: to } });
    // The journal moves last: without it the next run could not tell which download the bytes are
    // of.
    for (const suffix of SUFFIXES) {
      if (await exists(path + suffix)) await move(path + suffix, to + suffix);
    }
    const { blocks } = await stat(to + DATA_SUFFIX).catch(() => ({ blocks: 0 }));
    return blocks * BLOCK_BYTES;
  } catch (error) {
    throw fileError(error, to);
  } finally {
    await unlock();
  }
}

async function isThere(path: string): Promise<boolean> {
  const there = await Promise.all(SUFFIXES.map((suffix) => exists(path + suffix)));
  return there.includes(true);
}

async function move(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
    // On another file system the copy gets its name only once it is complete.
    const copy = `${to}.copy`;
    try {
      await copyFile(from, copy, constants.COPYFILE_FICLONE);
      await rename(copy, to);
    } finally {
      await rm(copy, { force: true });
    }
    await rm(from);
  }
}
