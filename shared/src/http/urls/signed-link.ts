/**
 * Signed links: `/-/signed/<permit>/<URL>` at an edge. Until it expires, the permit lets the holder
 * of the link fetch the URL through the edge, even if its origin is not listed. The publisher makes
 * such links with a secret that the edge knows. The file's name stays at the end of the link, so
 * that clients save the file under that name.
 *
 * A permit is `<expires>.<signature>` for exactly one URL, its query included, or
 * `<expires>.<signature>.<n>` for everything below the first n characters of the URL.
 */

import { MillraceError } from '../../base/errors.ts';
import { type PrefixedUrlOptions, parsePrefixedTarget } from './prefixed-url.ts';

/** Beginning of the targets of signed links. */
export const SIGNED_PATH = '/-/signed/';

/** Digits of a Unix time in seconds: ten digits last until the year 2286. */
const EXPIRES = String.raw`\d{1,10}`;
/** HMAC-SHA-256 in base64url, without padding (RFC 4648 5). */
const SIGNATURE = '[A-Za-z0-9_-]{43}';
const PERMIT = new RegExp(`^(${EXPIRES})\\.(${SIGNATURE})(?:\\.(\\d{1,4}))?$`);

/** A permit's claims, which must not be trusted before the signature has been checked. */
export interface Permit {
  /** End of its validity, Unix seconds. */
  readonly expires: number;
  readonly signature: string;
  /** Length of the URL prefix that it covers, in characters; undefined: exactly the URL. */
  readonly prefixChars: number | undefined;
}

/**
 * Parses the target of a signed link.
 *
 * @param target the raw request target, beginning with `SIGNED_PATH`
 * @returns the permit as text and the canonical origin URL
 * @throws MillraceError `link-invalid`, and as `parsePrefixedTarget`
 */
export function parseSignedTarget(
  target: string,
  options: PrefixedUrlOptions,
): { permit: string; url: URL } {
  const end = target.indexOf('/', SIGNED_PATH.length);
  const permit = target.slice(SIGNED_PATH.length, end < 0 ? undefined : end);
  if (end < 0 || parsePermit(permit) === undefined) {
    throw new MillraceError('link-invalid', 'it has no signature of the right form');
  }
  return { permit, url: parsePrefixedTarget(target.slice(end), options) };
}

/** Reads a permit; undefined if it is malformed. */
export function parsePermit(text: string): Permit | undefined {
  const match = PERMIT.exec(text);
  if (match === null) return undefined;
  const [, expires, signature, chars] = match as unknown as [string, string, string, string?];
  const prefixChars = chars === undefined ? undefined : Number(chars);
  return { expires: Number(expires), signature, prefixChars };
}

/** Writes a permit. */
export function formatPermit({ expires, signature, prefixChars }: Permit): string {
  return `${expires}.${signature}${prefixChars === undefined ? '' : `.${prefixChars}`}`;
}

/**
 * Makes the text that is signed for a permit of a URL: three lines, the last without a line end.
 *
 * @param url canonical
 * @returns undefined if no permit with that prefix length can cover the URL
 */
export function permitText(
  url: URL,
  { expires, prefixChars }: Pick<Permit, 'expires' | 'prefixChars'>,
): string | undefined {
  if (prefixChars === undefined) return `millrace-link-1 url\n${expires}\n${url.href}`;
  // Whole segments of the path only: otherwise /pub/a would also cover /pub/abc.
  const path = `${url.origin}${url.pathname}`;
  if (prefixChars <= url.origin.length || prefixChars > path.length) return undefined;
  const prefix = path.slice(0, prefixChars);
  return prefix.endsWith('/') ? `millrace-link-1 prefix\n${expires}\n${prefix}` : undefined;
}
