/** Reads the file name in a Content-Disposition field (RFC 6266), in the forms that servers use. */

import { type Headers, listField } from '@millrace/shared/http/fields/headers';

/** Returns the name as it was sent, which may be any text; undefined without one. */
export function nameInFields(fields: Headers): string | undefined {
  const value = listField(fields, 'content-disposition');
  if (value === undefined || value.length > 4096) return undefined;
  const extended = /;\s*filename\*\s*=\s*utf-8'[^']*'([^;\s]+)/i.exec(value)?.[1];
  if (extended !== undefined) {
    try {
      return decodeURIComponent(extended);
    } catch {
      // Use the plain name, if there is one.
    }
  }
  const quoted = /;\s*filename\s*=\s*"((?:[^"\\]|\\.)*)"/i.exec(value)?.[1];
  return quoted?.replace(/\\(.)/g, '$1') ?? /;\s*filename\s*=\s*([^;\s"]+)/i.exec(value)?.[1];
}
