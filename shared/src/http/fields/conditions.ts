/**
 * Conditions that tie an answer to a version (RFC 9110 13.1): written for our own requests, and
 * evaluated for those of clients.
 */

import { formatHttpDate, parseHttpDate } from './http-date.ts';
import { etagMatchesStrongly, type Validators } from './validators.ts';

type Fields = Record<string, string>;

/**
 * The value of If-Range: it asks for the range if the file is still of that version, otherwise for
 * all of it.
 *
 * @returns undefined where nothing strong is known: a weak one must not be used (13.1.5)
 */
export function ifRange({ etag, lastModified, lastModifiedIsStrong }: Validators) {
  if (etag !== undefined) return etag;
  if (lastModified === undefined || lastModifiedIsStrong !== true) return undefined;
  return formatHttpDate(lastModified);
}

/** Judges a client's If-Range: strong comparison for tags, exact match of a strong date (13.1.5). */
export function ifRangeHolds(value: string | undefined, v: Validators): boolean {
  if (value === undefined) return true;
  const text = value.trim();
  if (text.startsWith('"') || text.startsWith('W/')) return etagMatchesStrongly(text, v);
  const date = parseHttpDate(text);
  return date !== undefined && v.lastModifiedIsStrong === true && date === v.lastModified;
}

/** The field that makes an origin refuse rather than send another version (13.1.1, 13.1.4). */
export function ifSame({ etag, lastModified }: Validators): Fields {
  if (etag !== undefined) return { 'if-match': etag };
  if (lastModified === undefined) return {};
  return { 'if-unmodified-since': formatHttpDate(lastModified) };
}

/**
 * The field that makes an origin send the file only if it is another version (13.1.2, 13.1.3). A
 * weak tag is not enough: files with the same one may differ in their bytes.
 */
export function ifChanged({ etag, lastModified }: Validators): Fields {
  if (etag !== undefined) return { 'if-none-match': etag };
  return lastModified === undefined ? {} : { 'if-modified-since': formatHttpDate(lastModified) };
}
