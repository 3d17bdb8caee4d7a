/**
 * Finds pages whose relative links a redirect has given another base (RFC 3986 5.1.3). An edge
 * follows an origin's redirects for its clients. Behind a prefixed URL, a client would resolve the
 * links of such a page against the URL before the redirect: in the list of `/dir`, which came from
 * `/dir/`, the link `file` would lead to `/file`.
 */

import { type Headers, listField } from '../fields/headers.ts';

/** Types whose readers follow relative links: pages, and playlists of HLS and DASH. */
const PAGE_TYPES: ReadonlySet<string> = new Set([
  ...['text/html', 'application/xhtml+xml'],
  ...['application/vnd.apple.mpegurl', 'application/x-mpegurl', 'application/dash+xml'],
  ...['audio/mpegurl', 'audio/x-mpegurl'],
]);

/**
 * Returns true for a page with a base other than its reader would take for it. An attachment is
 * saved, not read: it counts as a file.
 *
 * @param asked URL before redirects
 * @param found URL that the page has come from
 * @param headers of the page
 */
export function isMovedPage(asked: URL, found: URL, headers: Headers): boolean {
  // The query of a base is used by no link but the empty one (RFC 3986 5.2.2).
  if (asked.origin === found.origin && asked.pathname === found.pathname) return false;
  const [type = ''] = (listField(headers, 'content-type') ?? '').split(/[;,]/);
  if (!PAGE_TYPES.has(type.trim().toLowerCase())) return false;
  return !/^\s*attachment\b/i.test(listField(headers, 'content-disposition') ?? '');
}
