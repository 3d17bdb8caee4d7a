/**
 * Which edges may be asked for a file that a browser was asked for. Edges see what they are asked
 * for, keep it, and give it to others: what is not for everybody is not asked of them. The one rule
 * for whoever takes a download: the desktop's engine, the engine in the extension, and the extension
 * itself, which knows what the user has allowed.
 */

import { isAmong } from '../http/host-list.ts';
import { ipLiteral, isPublicAddress } from '../http/public-address.ts';
import { looksSigned } from './signed-url.ts';

/** One request of the user's for a file. */
export interface AskedFor {
  readonly url: string;
  /** Fields of that request, as far as they are known; names in any case. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export interface OfferedEdge {
  /** Base URL. */
  readonly url: string;
  /**
   * Hosts, subdomains included, whose files the user lets it have. Undefined: it was named for this
   * very file, by whoever knows what is allowed.
   */
  readonly hosts?: readonly string[] | undefined;
}

/** More do not make a download faster. */
export const MAX_USED_EDGES = 8;

/** Fields that say nothing of who the user is to the server. All others may be a log-in. */
const IMPERSONAL: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'accept-language',
  'referer',
  'user-agent',
]);

/** Names that mean something on one network only (RFC 6761, 6762, 8375, and what networks use). */
const LOCAL_NAME =
  /(?:^|\.)(?:localhost|local|internal|intranet|lan|home|corp|private|home\.arpa)$/;

/** Query parameters that are named after a secret, beside those that signing has names for. */
const SECRET_NAME =
  /(?:^|[-_.])(?:token|secret|pass|passwd|password|pwd|api[-_]?key|jwt|session|session[-_]?id|sid|signature|credentials?)$/;

/**
 * The edges that may be asked for a file: none where it is not shown to be for everybody. It is not
 * if one of the requests was made with a cookie, a log-in or another field that may be one, or if
 * one of the URLs has a user name, a password, a signature or a token, or a host that is not of the
 * public internet. A name may still lead to a private address: that is for edges to see
 * (`private-address`).
 *
 * @param requests the user's, in order: first the one that edges would be asked for, then where
 *   redirects have led. What is not known cannot speak against it: without any, nothing is shown
 * @param edges in the order in which they are preferred
 * @returns base URLs, each once, at most `MAX_USED_EDGES`
 */
export function usableEdges(
  requests: readonly AskedFor[],
  edges: readonly OfferedEdge[],
): string[] {
  const [first] = requests;
  if (first === undefined || !requests.every(isForEverybody)) return [];
  const { hostname } = new URL(first.url);
  const allowed = edges.filter(({ hosts }) => hosts === undefined || isAmong(hostname, hosts));
  return [...new Set(allowed.map(({ url }) => url))].slice(0, MAX_USED_EDGES);
}

function isForEverybody({ url: text, headers = {} }: AskedFor): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return false;
  const names = Object.keys(headers).map((name) => name.toLowerCase());
  if (!names.every((name) => IMPERSONAL.has(name))) return false;
  return url.username + url.password === '' && !hasSecret(url) && isPublicHost(url.hostname);
}

function hasSecret(url: URL): boolean {
  const names = [...url.searchParams.keys()].map((name) => name.toLowerCase());
  return looksSigned(url.href) || names.some((name) => SECRET_NAME.test(name));
}

function isPublicHost(hostname: string): boolean {
  const literal = ipLiteral(hostname);
  if (literal !== undefined) return isPublicAddress(literal);
  const name = hostname.replace(/\.$/, '');
  return name.includes('.') && !LOCAL_NAME.test(name);
}
