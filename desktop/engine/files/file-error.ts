/** Turns errors of the file system into errors of our table. */

import { MillraceError } from '@millrace/shared/base/errors';

/** Returns the matching error. @param path the file that was to be read or written */
export function fileError(error: unknown, path: string): MillraceError {
  if (error instanceof MillraceError) return error;
  const code = (error as NodeJS.ErrnoException).code ?? '';
  const detail = `${path}${code === '' ? '' : ` (${code})`}`;
  if (code === 'ENOSPC' || code === 'EDQUOT') return new MillraceError('disk-full', detail);
  if (code === 'EEXIST') return new MillraceError('file-exists', path);
  return new MillraceError('file-not-writable', detail, { cause: error });
}
