/** Pages that come through an edge: their links mean the origin that has written them. */

import {
  formatPrefixedUrl,
  parsePrefixedTarget,
  requestTarget,
} from '../../http/urls/prefixed-url.ts';

export interface BehindEdge {
  /** Base URL of the edge. */
  readonly edge: string;
  /** URL of the page at its origin. */
  readonly inner: string;
}

/** Only a URL with its scheme is taken for an origin's: folders have names like hosts, such as `v1.2`. */
const WITH_SCHEME = /^\/https?(?::|%3a)/i;

/** Returns the edge and the origin's URL of a prefixed URL; undefined for any other. */
export function behindEdge(address: string): BehindEdge | undefined {
  const url = new URL(address);
  const target = requestTarget(url);
  if (!WITH_SCHEME.test(target)) return undefined;
  try {
    const inner = parsePrefixedTarget(target, { defaultScheme: 'http' });
    return { edge: url.origin, inner: inner.href };
  } catch {
    return undefined;
  }
}

/** Puts the edge before a link of such a page, unless it leads to another host. */
export function throughEdge({ edge, inner }: BehindEdge, link: string): string {
  return new URL(link).origin === new URL(inner).origin ? formatPrefixedUrl(edge, link) : link;
}
