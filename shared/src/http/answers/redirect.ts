/** Finds the target of a redirect (RFC 9110 15.4, 10.2.2). */

import { MillraceError } from '../../base/errors.ts';
import { type Headers, singleField } from '../fields/headers.ts';

const REDIRECTS: ReadonlySet<number> = new Set([300, 301, 302, 303, 307, 308]);

/** Returns true for statuses after which a GET is repeated at another URL. */
export function isRedirect(status: number): boolean {
  return REDIRECTS.has(status);
}

/**
 * Returns the target of a redirect.
 *
 * @param from requested URL
 * @returns an http or https URL without a fragment
 * @throws MillraceError `bad-redirect`
 */
export function redirectTarget(headers: Headers, from: URL): URL {
  const location = singleField(headers, 'location');
  // An empty Location would lead back to the same URL for ever.
  if (location === undefined || location.trim() === '') {
    throw new MillraceError('bad-redirect', { code: 'redirect-nowhere' });
  }
  let target: URL;
  try {
    target = new URL(withoutRawBytes(location), from);
  } catch (cause) {
    throw new MillraceError('bad-redirect', `Location "${location}"`, { cause });
  }
  if (target.protocol !== 'http:' && target.protocol !== 'https:') {
    throw new MillraceError('bad-redirect', target.protocol);
  }
  target.hash = '';
  return target;
}

/**
 * Percent-encodes the bytes beyond ASCII of a Location, which reached us as Latin-1: most scripts
 * that send them mean UTF-8, and other clients ask for the same bytes.
 */
function withoutRawBytes(location: string): string {
  return location.replace(
    /[\x80-\xff]/g,
    (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
