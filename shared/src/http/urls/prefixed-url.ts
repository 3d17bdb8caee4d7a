/**
 * Prefixed URLs: an edge's address, a slash, and the URL of a file (NSDI 2.3). Unmodified clients
 * need nothing else to fetch through the edge.
 */

import { MillraceError } from '../../base/errors.ts';
import { MAX_URL_CHARS } from '../../base/limits.ts';

export interface PrefixedUrlOptions {
  /** Scheme for URLs written without one. */
  readonly defaultScheme: 'http' | 'https';
}

/** `http://` or `https://`, perhaps with one slash or a percent-encoded separator. */
const SCHEME = /^(https?)(?::|%3a)(?:\/|%2f){1,2}(?!\/|%2f)/i;
/** The scheme of a URL that a client has percent-encoded as a whole; a path may have colons. */
const ENCODED_SCHEME = /^https?(?::|%3a)(?:%2f){1,2}(?!\/|%2f)/i;
const OTHER_SCHEME = /^[a-z][a-z0-9+.-]*:\/\//i;
/** A host name with a dot, an IP literal, or any host with a port; then a slash. */
const BARE_HOST =
  /^(?:[^/?#.][^/?#]*\.[^/?#.]+\.?|localhost|\[[0-9a-f:.]+\]|[^/?#:]+:\d+)(?::\d+)?\//i;

/**
 * Reads the request target of a prefixed URL: everything after the first slash is the origin URL,
 * query included.
 *
 * @param target the raw request target, as received (bytes above 0x7f as Latin-1 characters)
 * @returns the origin URL in canonical form; its `href` is the file's name everywhere
 * @throws MillraceError `no-such-page`, `bad-url`, `url-too-long`, `credentials-in-url`
 */
export function parsePrefixedTarget(target: string, options: PrefixedUrlOptions): URL {
  const rest = plain(escapeBytes(target.slice(1)));
  const scheme = SCHEME.exec(rest);
  if (scheme) {
    const name = (scheme[1] as string).toLowerCase();
    return parseOriginUrl(`${name}://${rest.slice(scheme[0].length)}`);
  }
  if (OTHER_SCHEME.test(rest)) {
    throw new MillraceError('bad-url', { code: 'only-http' });
  }
  if (!BARE_HOST.test(rest)) throw new MillraceError('no-such-page');
  return parseOriginUrl(`${options.defaultScheme}://${rest}`);
}

/**
 * Reads and canonicalises the URL of a file: host in lower case and punycode, default port and dot
 * segments gone, path and query otherwise as written. One file, one name: cache keys, chunk names
 * and requests to the origin all use the result.
 *
 * @throws MillraceError `bad-url`, `url-too-long`, `credentials-in-url`
 */
export function parseOriginUrl(text: string): URL {
  if (text.length > MAX_URL_CHARS) {
    throw new MillraceError('url-too-long', {
      code: 'url-too-long',
      values: { n: text.length, most: MAX_URL_CHARS },
    });
  }
  // The URL parser would drop tabs and newlines and cut at '#'; such input is refused instead.
  if (/[\x00-\x20\x7f#]/.test(text)) {
    throw new MillraceError('bad-url', { code: 'url-has-space' });
  }
  // The URL parser would also read a backslash as a slash, which origins do not.
  const escaped = text.replaceAll('\\', '%5C');
  let url: URL;
  try {
    url = new URL(escaped);
  } catch (cause) {
    throw new MillraceError('bad-url', { code: 'not-a-url' }, { cause });
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new MillraceError('bad-url', { code: 'only-http' });
  }
  if (url.username !== '' || url.password !== '') throw new MillraceError('credentials-in-url');
  if (url.hostname.endsWith('.')) url.hostname = url.hostname.slice(0, -1);
  if (url.hostname === '' || url.port === '0' || /^\.|\.\.|\.$/.test(url.hostname)) {
    throw new MillraceError('bad-url', { code: 'url-without-host' });
  }
  if (url.href.length > MAX_URL_CHARS) throw new MillraceError('url-too-long');
  return url;
}

/**
 * Writes the request target: path and query. `search` alone is not enough: it is empty for both
 * `/a?` and `/a`, which are two resources.
 */
export function requestTarget(url: URL): string {
  const { href, origin, hash } = url;
  const from = href.indexOf('/', origin.indexOf('//') + 2);
  return href.slice(from, hash === '' ? undefined : href.length - hash.length);
}

/**
 * Puts an edge before an origin URL.
 *
 * @param edge the edge's base URL, with or without a final slash
 */
export function formatPrefixedUrl(edge: string, originUrl: string): string {
  return `${edge.replace(/\/+$/, '')}/${originUrl}`;
}

/**
 * Undoes what clients percent-encode in a prefixed URL, whose path is all of it to them. Two forms
 * are read, and no text has both:
 *
 * - `http%3A//host%3A8080/a%2Fb`: every segment is encoded by itself (pip, wget2, boto3). Only colons
 *   and brackets before the path become plain; the path stays as the client has written it.
 * - `http%3A%2F%2Fhost%3A8080%2Fa%252Fb`: the URL is encoded as one segment, as by
 *   `encodeURIComponent`, or with its colons, as by Go. The segment is decoded once; text behind it
 *   stays as it is.
 *
 * @throws MillraceError `bad-url` for an encoded URL that does not say where its path ends
 */
function plain(text: string): string {
  const scheme = SCHEME.exec(text)?.[0].length ?? 0;
  const found = text.slice(scheme).search(/[/?]/);
  const end = found < 0 ? text.length : scheme + found;
  const first = text.slice(0, end);
  const behind = text.slice(end);
  // Anything but a separator of the path or the query leaves the first form.
  if (!ENCODED_SCHEME.test(first) || !/%(?:2f|3f)/i.test(first.slice(scheme))) {
    return first.replace(/%(?:3a|5b|5d)/gi, (code) => character(code)) + behind;
  }
  if (/%(?![0-9a-f]{2})/i.test(first)) {
    throw new MillraceError('bad-url', { code: 'url-half-encoded' });
  }
  const url = first.replace(/%[0-9a-f]{2}/gi, (code) => character(code));
  if (url.includes('?') && behind !== '') {
    throw new MillraceError('bad-url', { code: 'url-encoded-behind' });
  }
  return escapeBytes(url) + behind;
}

function character(code: string): string {
  return String.fromCharCode(Number.parseInt(code.slice(1), 16));
}

/**
 * Percent-encodes the bytes above ASCII in a request target, one Latin-1 character each, so that
 * they reach the origin as the client sent them. The URL parser decodes host names from that form
 * as UTF-8, which clients send.
 */
function escapeBytes(text: string): string {
  return text.replace(/[\x80-\xff]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
}
