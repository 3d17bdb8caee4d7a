/**
 * Links of depots as prefixed URLs, such as `http://edge/https://depot.example/-/d/ID/SECRET/NAME`.
 * Of this network's own depots they are answered as the links themselves: over the inside protocol,
 * so that no policy has to admit the depot's address, and no record holds the capability.
 */

import { parseDepotTarget } from '@millrace/shared/http/urls/depot-link';
import { parsePrefixedTarget } from '@millrace/shared/http/urls/prefixed-url';

/** The beginning of a prefixed URL that may be percent-encoded as a whole. */
const ENCODED_URL = /^\/https?(?::|%3a)%2f/i;

/**
 * Reads a target.
 *
 * @param isAt true if clients reach the depot of an id at an origin
 * @returns the target of the link; undefined for all other targets
 */
export function ofPrefixed(
  target: string,
  defaultScheme: 'http' | 'https',
  isAt: (id: string, origin: string) => boolean,
): string | undefined {
  // Nearly all targets end here.
  if (!/\/-\/[df]\//.test(target) && !ENCODED_URL.test(target)) return undefined;
  let url: URL;
  try {
    url = parsePrefixedTarget(target, { defaultScheme });
  } catch {
    return undefined;
  }
  const link = parseDepotTarget(url.pathname);
  const isReading = link?.kind === 'read' || link?.kind === 'file';
  return isReading && isAt(link.id, url.origin) ? url.pathname : undefined;
}
