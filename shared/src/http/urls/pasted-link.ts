/** Reads links that people paste, more tolerantly than links that programs send. */

import { MillraceError } from '../../base/errors.ts';
import { MAX_URL_CHARS } from '../../base/limits.ts';
import { parseOriginUrl } from './prefixed-url.ts';

const ANY_SCHEME = /^[a-z][a-z0-9+.-]*:\/\//i;

/**
 * Reads a link. Removes space around it, a fragment and the prefix of an edge, and adds a missing
 * scheme.
 *
 * @param edges base URLs of edges
 * @param defaultScheme for links without one
 * @throws MillraceError `bad-url`, `url-too-long`, `credentials-in-url`
 */
export function parsePastedLink(
  text: string,
  edges: readonly string[],
  defaultScheme: 'http' | 'https',
): URL {
  let link = text.trim().replace(/^<(.*)>$/, '$1');
  if (link.length > MAX_URL_CHARS) throw new MillraceError('url-too-long');
  for (const edge of edges) {
    const prefix = `${edge.replace(/\/+$/, '')}/`;
    if (link.startsWith(prefix)) link = link.slice(prefix.length);
  }
  if (link === '') throw new MillraceError('bad-url', { code: 'no-link' });
  const complete = ANY_SCHEME.test(link) ? link : `${defaultScheme}://${link}`;
  let url: URL;
  try {
    // The URL parser encodes spaces and letters as browsers do.
    url = new URL(complete);
  } catch (cause) {
    throw new MillraceError('bad-url', { code: 'not-a-url' }, { cause });
  }
  url.hash = '';
  return parseOriginUrl(url.href);
}
