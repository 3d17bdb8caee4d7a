/** Another name where one is taken. */

import { existsSync } from 'node:fs';
import { MillraceError } from '@millrace/shared/base/errors';
import { numberedPath } from '../numbered-path.ts';
import { DATA_SUFFIX } from '../partial-names.ts';

const MAX_NUMBER = 9999;

/**
 * @param path the one that is taken
 * @param taken what is taken besides what is on disk: by other downloads
 * @throws MillraceError `file-exists` when all numbers are taken
 */
export function freePath(path: string, taken: (path: string) => boolean): string {
  for (let number = 1; number <= MAX_NUMBER; number++) {
    const candidate = numberedPath(path, number);
    if (taken(candidate)) continue;
    if (existsSync(candidate) || existsSync(candidate + DATA_SUFFIX)) continue;
    return candidate;
  }
  throw new MillraceError('file-exists', path);
}
