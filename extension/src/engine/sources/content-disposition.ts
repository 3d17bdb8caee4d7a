/** The file name in a Content-Disposition field (RFC 6266), as far as servers write it sensibly. */

import { type Headers, listField } from '@millrace/shared/http/fields/headers';

/** @returns the name as it was sent, which may be any text; undefined without one */
export function nameInFields(fields: Headers): string | undefined {
  const value = listField(fields, 'content-disposition');
  if (value === undefined || value.length > 4096) return undefined;
  const extended = /;\s*filename\*\s*=\s*utf-8'[^']*'([^;\s]+)/i.exec(value)?.[1];
  if (extended !== undefined) {
    try {
      return decodeURIComponent(extended);
    } catch {
      // Then the plain one, if there is one.
    }
  }
  const quoted = /;\s*filename\s*=\s*"((?:[^"\\]|\\.)*)"/i.exec(value)?.[1];
  return quoted?.replace(/\\(.)/g, '$1') ?? /;\s*filename\s*=\s*([^;\s"]+)/i.exec(value)?.[1];
}
