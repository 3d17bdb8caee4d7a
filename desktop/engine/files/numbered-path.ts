/** Another name where one is taken: `name.1.ext`, `name.2.ext` ... as aria2 has it. */

import { basename, dirname, extname, join } from 'node:path';

/** The path with a number before its extension; 0: as it is. */
export function numberedPath(path: string, number: number): string {
  if (number === 0) return path;
  const extension = extname(path);
  return join(dirname(path), `${basename(path, extension)}.${number}${extension}`);
}
