/** Another name where one is taken. */

import { existsSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';
import type { DownloadRequest } from '@millrace/shared/download/request/request';
import type { DownloadRecord } from '../store/record.ts';
import { numberedPath } from './numbered-path.ts';
import { DATA_SUFFIX } from './partial-names.ts';

const MAX_NUMBER = 9999;

/**
 * @param path the taken path
 * @param taken whether other downloads have a path, besides files on disk
 * @throws MillraceError `file-exists` when all numbers are taken
 */
export function freePath(path: string, taken: (path: string) => boolean): string {
  for (let number = 1; number <= MAX_NUMBER; number++) {
    const candidate = numberedPath(path, number);
    if (isFree(candidate, taken)) return candidate;
  }
  throw new MillraceError('file-exists', path);
}

/**
 * Chooses the next path once a download's name is taken: the next number. Where a name was held for
 * it among a browser's downloads, no other name there belongs to us: it goes to the folder for that
 * case.
 *
 * @param path the taken path
 * @param taken as of `freePath`
 * @throws MillraceError `file-exists`
 */
export function atFreePath(
  { request, options }: Pick<DownloadRecord, 'request' | 'options'>,
  path: string,
  taken: (path: string) => boolean,
): DownloadRequest {
  const dir = request.held === undefined ? undefined : options.elsewhere;
  if (dir === undefined) return { ...request, file: relative(request.dir, freePath(path, taken)) };
  const first = join(dir, basename(path));
  const free = isFree(first, taken) ? first : freePath(first, taken);
  return { ...request, dir, file: relative(dir, free), held: undefined };
}

function isFree(path: string, taken: (path: string) => boolean): boolean {
  return !taken(path) && !existsSync(path) && !existsSync(path + DATA_SUFFIX);
}
