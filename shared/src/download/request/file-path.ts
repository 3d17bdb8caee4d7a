/** Checks paths of files below a folder that Metalink documents and untrusted lists name. */

import { MillraceError } from '../../base/errors.ts';
import { shown } from '../../base/shown.ts';
import { safeFileName } from './file-name.ts';

const MAX_NAME_CHARS = 1024;
const MAX_FOLDERS = 32;

/**
 * Finds the fault of a file's name: it must be relative and stay inside its folder (RFC 5854,
 * 4.1.2.1).
 *
 * @returns undefined if it has none
 */
export function faultOfFileName(name: string): string | undefined {
  if (name === '') return 'the file has no name';
  if (name.length > MAX_NAME_CHARS) return `the name has more than ${MAX_NAME_CHARS} characters`;
  if (/[\x00-\x1f\x7f]/.test(name) || !name.isWellFormed()) {
    return 'the name has characters that cannot be in one';
  }
  // A backslash separates names on Windows, and could lead out of the folder there.
  if (name.includes('\\')) return `the name ${shown(name)} has a backslash`;
  if (name.startsWith('/') || /^[A-Za-z]:/.test(name)) return `the name ${shown(name)} is absolute`;
  const parts = name.split('/');
  if (parts.length > MAX_FOLDERS) return `the name has more than ${MAX_FOLDERS} folders`;
  if (parts.some((part) => part === '' || part === '.' || part === '..')) {
    return `the name ${shown(name)} has an empty part, "." or ".."`;
  }
  return undefined;
}

/**
 * Makes the path at which a described file is saved, relative to the download folder, with each
 * part of its name made safe.
 *
 * @throws MillraceError `bad-metalink` if the name would leave the folder
 */
export function safePath(name: string): string {
  const fault = faultOfFileName(name);
  if (fault !== undefined) throw new MillraceError('bad-metalink', fault);
  return name.split('/').map(safeFileName).join('/');
}
