/** Older files that users name for a download. */

import { resolve } from 'node:path';
import { MAX_URL_CHARS } from '@millrace/shared/base/limits';
import type { OlderFile } from '@millrace/shared/download/request/request';
import * as z from 'zod';
import { downloadUrl } from '../settings/checks.ts';

const MAX_PATH_CHARS = 4096;

/** A path that a user has given. */
export const path = z
  .string()
  .min(1)
  .max(MAX_PATH_CHARS)
  .refine((text) => !text.includes('\0'), 'must not have NUL in it');

/** A file on this disk, parts of which are likely to be those of the wanted one. */
export const givenOlder = z.strictObject({
  /** Absolute, or relative to the download folder. */
  path,
  /** List of the wanted file's blocks; without it, one beside the file is looked for. */
  zsync: z.string().max(MAX_URL_CHARS).optional(),
});

/**
 * Returns the older file of a request.
 *
 * @param dir download folder
 * @throws MillraceError `bad-url`
 */
export function olderOf(
  { path: given, zsync }: z.output<typeof givenOlder>,
  dir: string,
): OlderFile {
  return {
    path: resolve(dir, given),
    beside: true,
    ...(zsync === undefined ? {} : { zsync: downloadUrl(zsync).href }),
  };
}
