/**
 * Reads the edges that a publisher names for its files in Link fields (RFC 8288):
 * `Link: <https://edge.example/>; rel="https://millrace.dev/rel/edge"`. This is an extension
 * relation type, because no registered type means "the same files, with this prefix before their
 * URLs".
 */

import { MAX_URL_CHARS } from '../../base/limits.ts';
import type { Headers } from '../fields/headers.ts';
import { parseLinks } from './link.ts';

/** Relation type of edges; relation types are compared case-insensitively (RFC 8288 2.1.2). */
export const EDGE_RELATION = 'https://millrace.dev/rel/edge';

const MAX_EDGES = 8;

/**
 * Returns the base URLs of edges, in the order of the links, at most 8. From an answer over https,
 * only edges with https are read.
 *
 * @param url requested URL, the base of relative links
 */
export function parseEdgeLinks(headers: Headers, url: string): string[] {
  const edges = new Set<string>();
  for (const { target, rel, parameters } of parseLinks(headers)) {
    // A link with an anchor is about another resource (RFC 8288 3.2).
    if (!rel.includes(EDGE_RELATION) || parameters.has('anchor')) continue;
    const edge = baseUrl(target, url);
    if (edge !== undefined) edges.add(edge);
  }
  return [...edges].slice(0, MAX_EDGES);
}

function baseUrl(target: string, base: string): string | undefined {
  if (target === '' || target.length > MAX_URL_CHARS) return undefined;
  try {
    const { protocol, username, password, search, hash, href } = new URL(target, base);
    const secure = new URL(base).protocol === 'https:';
    if (protocol !== 'https:' && (secure || protocol !== 'http:')) return undefined;
    return username + password + search + hash === '' ? href : undefined;
  } catch {
    return undefined; // not a URL
  }
}
