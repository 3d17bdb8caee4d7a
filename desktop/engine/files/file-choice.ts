/** Chooses another name if one is taken. */

import { existsSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';
import type { DownloadRequest } from '@millrace/shared/download/request/request';
import type { DownloadRecord } from '../store/record.ts';
import { numberedPath } from './numbered-path.ts';
import { DATA_SUFFIX } from './partial-names.ts';

const MAX_NUMBER = 9999;

/**
 * Returns the first free path with a number.
 *
 * @param path the taken path
 * @param taken returns true for paths of other downloads; files on disk are found without it
 * @throws MillraceError `file-exists` if all numbers are taken
 */
export function freePath(path: string, taken: (path: string) => boolean): string {
  for (let number = 1; number <= MAX_NUMBER; number++) {
    const candidate = numberedPath(path, number);
    if (isFree(candidate, taken)) return candidate;
  }
  throw new MillraceError('file-exists', { code: 'path', values: { path } });
}

/**
 * Chooses the next path after a download's name turned out to be taken: the next number. If its
 * name was held among a browser's downloads, no other name there belongs to us: the download goes
 * to the folder for that case.
 *
 * @param path the taken path
 * @param taken as for `freePath`
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
