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
  const rest = escapeBytes(target.slice(1));
  const scheme = SCHEME.exec(rest);
  if (scheme) {
    const name = (scheme[1] as string).toLowerCase();
    return parseOriginUrl(`${name}://${rest.slice(scheme[0].length)}`);
  }
  if (OTHER_SCHEME.test(rest)) {
    throw new MillraceError('bad-url', 'only http and https can be fetched');
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
    throw new MillraceError('url-too-long', `${text.length} characters, at most ${MAX_URL_CHARS}`);
  }
  // The URL parser would drop tabs and newlines and cut at '#'; such input is refused instead.
  if (/[\x00-\x20\x7f#]/.test(text)) {
    throw new MillraceError('bad-url', 'it contains a space, control character or #');
  }
  // The URL parser would also read a backslash as a slash, which origins do not.
  const escaped = text.replaceAll('\\', '%5C');
  let url: URL;
  try {
    url = new URL(escaped);
  } catch (cause) {
    throw new MillraceError('bad-url', 'it cannot be parsed', { cause });
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new MillraceError('bad-url', 'only http and https can be fetched');
  }
  if (url.username !== '' || url.password !== '') throw new MillraceError('credentials-in-url');
  if (url.hostname.endsWith('.')) url.hostname = url.hostname.slice(0, -1);
  if (url.hostname === '' || url.port === '0' || /^\.|\.\.|\.$/.test(url.hostname)) {
    throw new MillraceError('bad-url', 'it has no host that can be reached');
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
 * Percent-encodes the bytes above ASCII in a request target, one Latin-1 character each, so that
 * they reach the origin as the client sent them. The URL parser decodes host names from that form
 * as UTF-8, which clients send.
 */
function escapeBytes(text: string): string {
  return text.replace(/[\x80-\xff]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
}
