/**
 * Decides which edges a publisher may name. A page must not aim the extension at the user's own
 * network. A site behind an edge must not name edges: it has the edge's address, but does not speak
 * for the edge.
 */

import type { Headers } from '@millrace/shared/http/fields/headers';
import { parseEdgeLinks } from '@millrace/shared/http/urls/edge-links';
import { parsePrefixedTarget, requestTarget } from '@millrace/shared/http/urls/prefixed-url';
import { networkOf } from '@millrace/shared/http/urls/public-address';
import { isPublicHost } from '@millrace/shared/http/urls/public-host';

/**
 * Returns the edges that an answer names and that may be asked: in the public internet as far as
 * their names show, with https unless the answer came without it. Returns none if the answering
 * server is itself behind an edge.
 *
 * @param url URL of the request
 * @returns base URLs
 */
export function publishedEdges(headers: Headers, url: string): string[] {
  if (isBehindEdge(url)) return [];
  return parseEdgeLinks(headers, url).filter((edge) => isPublicHost(new URL(edge).hostname));
}

/** Returns whether a URL has the form for asking an edge: an edge's address before another URL. */
function isBehindEdge(url: string): boolean {
  try {
    parsePrefixedTarget(requestTarget(new URL(url)), { defaultScheme: 'https' });
    return true;
  } catch {
    return false;
  }
}

/**
 * Returns whether an edge at one address may be used if a page at another address has named it. The
 * edge must not be further inside a network than the page, with this machine innermost (Private
 * Network Access, 2.1).
 *
 * @param edge address of the edge; undefined: not known
 * @param page address of the page; undefined: not known, and taken to be public
 */
export function isWithinReach(edge: string | undefined, page: string | undefined): boolean {
  if (edge === undefined) return false;
  const inside = { public: 0, private: 1, loopback: 2 };
  return inside[networkOf(edge)] <= (page === undefined ? 0 : inside[networkOf(page)]);
}
