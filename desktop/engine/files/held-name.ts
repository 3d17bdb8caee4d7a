/**
 * Reserves the name of a file during its download. Chromium chooses the name of a download once,
 * beside the files that exist then, and in the end replaces any file of that name. So a file that
 * names its owner holds the name until the download is complete.
 */

import { closeSync, constants, linkSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { exists, renameWithoutReplacing } from './file-steps.ts';
import { numberedPath } from './numbered-path.ts';

/** Suffix of files that are not yet known to be ours, or not yet complete. */
export const ASIDE_SUFFIX = '.millrace-held';
const MAX_BYTES = 256;
const MAX_NUMBER = 99;
const NO_LINK = constants.O_NOFOLLOW ?? 0;
const NO_WAIT = constants.O_NONBLOCK ?? 0;

function textOf(token: string): string {
  return `Millrace is downloading this file.\n${token}\n`;
}

/**
 * Makes the file that holds a name, either with all its contents or not at all.
 *
 * @param token unique to the owner
 * @throws Error of the file system: EEXIST if the name is taken, or the error for missing support
 *   of links. No file is left then
 */
export function holdName(path: string, token: string): void {
  const aside = path + ASIDE_SUFFIX;
  const file = openSync(aside, 'wx');
  try {
    writeFileSync(file, textOf(token));
    linkSync(aside, path);
  } finally {
    closeSync(file);
    rmSync(aside, { force: true });
  }
}

/**
 * Returns true if the file of that name holds it for the token, and is nothing else.
 *
 * @param token undefined: the name is not held
 */
export async function isHeld(path: string, token: string | undefined): Promise<boolean> {
  return token !== undefined && (await textAt(path)) === textOf(token);
}

/**
 * Releases a name, and removes the remains of a crash during `holdName`. Files of other programs
 * stay, even if they are created at this very moment: a file is moved aside and checked before it
 * is deleted.
 */
export async function releaseName(path: string, token: string): Promise<void> {
  const aside = path + ASIDE_SUFFIX;
  await settle(path, aside, token);
  if (!(await isHeld(path, token))) return;
  await rename(path, aside);
  await settle(path, aside, token);
}

/** Deletes the file moved aside, or puts it back if it is not ours. */
async function settle(path: string, aside: string, token: string): Promise<void> {
  const text = await textAt(aside);
  // A crash may have left only the beginning of the text.
  if (text !== undefined && textOf(token).startsWith(text)) return rm(aside, { force: true });
  if (!(await exists(aside))) return;
  for (let number = 0; number <= MAX_NUMBER; number++) {
    const to = numberedPath(path, number);
    if (await exists(to)) continue;
    try {
      return await renameWithoutReplacing(aside, to);
    } catch (error) {
      if (!(await exists(to))) throw error;
    }
  }
}

/** Reads a short plain file; undefined if there is none. */
async function textAt(path: string): Promise<string | undefined> {
  const file = await open(path, constants.O_RDONLY | NO_LINK | NO_WAIT).catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    const info = await file.stat();
    if (!info.isFile() || info.size > MAX_BYTES) return undefined;
    return await file.readFile('utf8');
  } catch {
    return undefined;
  } finally {
    await file.close();
  }
}
