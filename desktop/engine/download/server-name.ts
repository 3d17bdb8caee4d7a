/** The name of a file, as the server gives it. */

import { nameFromUrl, safeFileName } from '@millrace/shared/download/request/file-name';
import { type Headers, listField } from '@millrace/shared/http/fields/headers';
import { parse as parseDisposition } from 'content-disposition';

/** The name in Content-Disposition (RFC 6266), otherwise the one in the URL; safe in any folder. */
export function nameFor(url: string, headers: Headers): string {
  const disposition = listField(headers, 'content-disposition');
  if (disposition !== undefined) {
    try {
      const { filename } = parseDisposition(disposition).parameters;
      if (filename !== undefined && filename !== '') return safeFileName(filename);
    } catch {
      // Malformed: the URL has a name as well.
    }
  }
  return nameFromUrl(url);
}
