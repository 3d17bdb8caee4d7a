/**
 * Decides whether two paths lead to one file, through links and different spellings in upper or
 * lower case.
 */

import { stat } from 'node:fs/promises';

/** Returns true if both paths lead to one file; false also where one of them leads to nothing. */
export async function isSameFile(one: string, other: string): Promise<boolean> {
  const [a, b] = await Promise.all([one, other].map(identity));
  return a !== undefined && a === b;
}

async function identity(path: string): Promise<string | undefined> {
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  return found === undefined ? undefined : `${found.dev} ${found.ino}`;
}
