/**
 * Decides which edges a publisher may name. A page must not aim the extension at the user's own
 * network, nor at another's site behind an edge: a site behind an edge has the edge's address, but
 * does not speak for it.
 */

import type { Headers } from '@millrace/shared/http/fields/headers';
import { parseEdgeLinks } from '@millrace/shared/http/urls/edge-links';
import { parsePrefixedTarget, requestTarget } from '@millrace/shared/http/urls/prefixed-url';
import { networkOf } from '@millrace/shared/http/urls/public-address';
import { isPublicHost } from '@millrace/shared/http/urls/public-host';

/**
 * Edges that an answer names and that may be asked: in the public internet as far as their names
 * show, with https unless the answer came without. None where the answering server is itself behind
 * an edge.
 *
 * @param url that was asked
 * @returns base URLs
 */
export function publishedEdges(headers: Headers, url: string): string[] {
  if (isBehindEdge(url)) return [];
  return parseEdgeLinks(headers, url).filter((edge) => isPublicHost(new URL(edge).hostname));
}

/** True for a URL that has the form in which edges are asked: an address before another's URL. */
function isBehindEdge(url: string): boolean {
  try {
    parsePrefixedTarget(requestTarget(new URL(url)), { defaultScheme: 'https' });
    return true;
  } catch {
    return false;
  }
}

/**
 * True where an edge at an address may be used if a page at another address has named it: it must
 * not be further inside a network than the page is, this machine being the innermost (Private
 * Network Access, 2.1).
 *
 * @param edge its address; undefined: not known
 * @param page its address; undefined: not known, and taken to be public
 */
export function isWithinReach(edge: string | undefined, page: string | undefined): boolean {
  if (edge === undefined) return false;
  const inside = { public: 0, private: 1, loopback: 2 };
  return inside[networkOf(edge)] <= (page === undefined ? 0 : inside[networkOf(page)]);
}
