/** Numbered names for files whose name is taken: `name.1.ext`, `name.2.ext` ... as in aria2. */

import { basename, dirname, extname, join } from 'node:path';

/** Returns the path with a number before its extension; 0: unchanged. */
export function numberedPath(path: string, number: number): string {
  if (number === 0) return path;
  const extension = extname(path);
  return join(dirname(path), `${basename(path, extension)}.${number}${extension}`);
}
