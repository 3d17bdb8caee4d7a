/** Another name where one is taken: `name.1.ext`, `name.2.ext` ... as aria2 has it. */

import { existsSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';
import { DATA_SUFFIX } from '../partial-file.ts';

const MAX_NUMBER = 9999;

/**
 * @param path the one that is taken
 * @param taken what is taken besides what is on disk: by other downloads
 * @throws MillraceError `file-exists` when all numbers are taken
 */
export function freePath(path: string, taken: (path: string) => boolean): string {
  const extension = extname(path);
  const stem = basename(path, extension);
  for (let number = 1; number <= MAX_NUMBER; number++) {
    const candidate = join(dirname(path), `${stem}.${number}${extension}`);
    if (taken(candidate)) continue;
    if (existsSync(candidate) || existsSync(candidate + DATA_SUFFIX)) continue;
    return candidate;
  }
  throw new MillraceError('file-exists', path);
}
