/** Finds the name of a file in the server's answer. */

import { nameFromUrl, safeFileName } from '@millrace/shared/download/request/file-name';
import { type Headers, listField } from '@millrace/shared/http/fields/headers';
import { parse as parseDisposition } from 'content-disposition';

/**
 * Returns the name in Content-Disposition (RFC 6266), otherwise the name in the URL; safe in any
 * folder.
 */
export function nameFor(url: string, headers: Headers): string {
  const disposition = listField(headers, 'content-disposition');
  if (disposition !== undefined) {
    try {
      const { filename } = parseDisposition(disposition).parameters;
      if (filename !== undefined && filename !== '') return safeFileName(filename);
    } catch {
      // The field is malformed: the URL has a name too.
    }
  }
  return nameFromUrl(url);
}
