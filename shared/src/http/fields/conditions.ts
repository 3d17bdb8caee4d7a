/**
 * Conditions that tie an answer to a version (RFC 9110 13.1): written for our own requests,
 * evaluated for clients' requests.
 */

import { formatHttpDate, parseHttpDate } from './http-date.ts';
import { etagMatchesStrongly, type Validators } from './validators.ts';

type Fields = Record<string, string>;

/**
 * Returns the value of If-Range, which asks for the range if the file is still of that version, and
 * for the whole file otherwise.
 *
 * @returns undefined if no strong validator is known: a weak one must not be used (13.1.5)
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

/** Returns the field that makes an origin refuse another version (13.1.1, 13.1.4). */
export function ifSame({ etag, lastModified }: Validators): Fields {
  if (etag !== undefined) return { 'if-match': etag };
  if (lastModified === undefined) return {};
  return { 'if-unmodified-since': formatHttpDate(lastModified) };
}

/**
 * Returns the field that makes an origin send the file only if it is another version (13.1.2,
 * 13.1.3). A weak tag is not used: files with the same weak tag may differ in their bytes.
 */
export function ifChanged({ etag, lastModified }: Validators): Fields {
  if (etag !== undefined) return { 'if-none-match': etag };
  return lastModified === undefined ? {} : { 'if-modified-since': formatHttpDate(lastModified) };
}
