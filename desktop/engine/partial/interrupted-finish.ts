/**
 * Recovers from a crash while a complete file was being named: the file has its final name, but its
 * journal and data file still exist. The naming is undone, so that the file is finished in the
 * usual way.
 */

import { open, rename, rm, stat } from 'node:fs/promises';
import { RangeSet } from '@millrace/shared/base/byte-range';
import { readJournal } from './journal-file.ts';
import { verifyEntries } from './verify.ts';

export interface FileNames {
  /** Path of the complete file. */
  readonly path: string;
  readonly data: string;
  readonly journal: string;
}

/**
 * Turns a complete file back into the partial file, if the journal proves that the file is ours.
 *
 * @returns true if the file is the partial file again
 * @throws Error of the file system; the signal's reason
 */
export async function undoFinish(names: FileNames, signal?: AbortSignal): Promise<boolean> {
  const [complete, partial] = await Promise.all([identity(names.path), identity(names.data)]);
  if (complete === undefined) return false;
  if (partial !== undefined) {
    // Two names for one file: the crash came after the second was made, before the first was
    // deleted.
    if (partial !== complete) return false;
    await rm(names.path);
    return true;
  }
  if (!(await isProven(names, signal))) return false;
  await rename(names.path, names.data);
  return true;
}

async function isProven({ path, journal }: FileNames, signal?: AbortSignal): Promise<boolean> {
  const read = await readJournal(journal);
  if (read === undefined) return false;
  const { entries, header } = read;
  const claimed = new RangeSet(entries.map(({ range }) => range));
  if (claimed.bytes !== header.length) return false;
  const file = await open(path, 'r');
  try {
    if ((await file.stat()).size !== header.length) return false;
    const right = await verifyEntries(file, entries, { signal });
    return new RangeSet(right.map(({ range }) => range)).bytes === header.length;
  } finally {
    await file.close();
  }
}

async function identity(path: string): Promise<string | undefined> {
  const named = await stat(path, { bigint: true }).catch(() => undefined);
  return named === undefined ? undefined : `${named.dev} ${named.ino}`;
}
