/** Turns errors of the file system into errors of our table. */

import type { Detail } from '@millrace/shared/base/error-table/particulars';
import { MillraceError } from '@millrace/shared/base/errors';

/** Returns the matching error. @param path the file that was to be read or written */
export function fileError(error: unknown, path: string): MillraceError {
  if (error instanceof MillraceError) return error;
  const code = (error as NodeJS.ErrnoException).code ?? '';
  const detail: Detail =
    code === ''
      ? { code: 'path', values: { path } }
      : { code: 'path-os', values: { path, os: code } };
  if (code === 'ENOSPC' || code === 'EDQUOT') return new MillraceError('disk-full', detail);
  if (code === 'EEXIST')
    return new MillraceError('file-exists', { code: 'path', values: { path } });
  return new MillraceError('file-not-writable', detail, { cause: error });
}
