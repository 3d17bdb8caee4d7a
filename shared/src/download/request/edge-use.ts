/**
 * Decides which edges may be asked for a file. Edges see the files that they are asked for, keep
 * them, and give them to others, so they are asked only for public files. Three callers follow this
 * rule: the desktop's engine, the engine in the extension, and the extension itself, which knows
 * what the user has allowed.
 */

import { parseCacheControl } from '../../http/answers/freshness.ts';
import { type Headers, listField, splitList } from '../../http/fields/headers.ts';
import { isAmong } from '../../http/urls/host-list.ts';
import { isPublicHost } from '../../http/urls/public-host.ts';
import { type Capability, capabilityIn } from './capability-url.ts';

/** The origin's answer to the user's own request. */
export interface OriginAnswer {
  readonly status: number;
  /** Header fields, with names in lower case. */
  readonly headers: Headers;
}

/** One request of the user for a file. */
export interface AskedFor {
  readonly url: string;
  /** Header fields of that request, as far as they are known; names in any case. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The answer, unless there was none or it was a redirect; it decides before the URL does. */
  readonly answer?: OriginAnswer | undefined;
}

export interface OfferedEdge {
  /** Base URL. */
  readonly url: string;
  /**
   * Hosts, subdomains included, whose files the user allows the edge to have. Undefined: the edge
   * was named for this very file, by a program that knows what is allowed.
   */
  readonly hosts?: readonly string[] | undefined;
}

/** Most edges for one file: more do not make a download faster. */
export const MAX_USED_EDGES = 8;

/** Header fields that do not tell the server who the user is. Any other may be a log-in. */
const IMPERSONAL: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'accept-language',
  'referer',
  'user-agent',
]);

/** Why edges are not asked for a file. */
export type HomeReason =
  /** The request has header fields that may be a log-in. */
  | 'fields'
  /** The file is in the user's own network. */
  | 'own-network'
  /** The link looks like a capability. */
  | Capability
  /** The answer has `Cache-Control: private` or `no-store`. */
  | 'answer-private'
  | 'answer-cookie'
  /** The answer depends on the user. */
  | 'answer-varies'
  /** The answer requires a log-in. */
  | 'answer-denied';

/**
 * Lists the edges that may be asked for a file; none unless the file has been shown to be public.
 *
 * @param requests the user's requests in order: first the one that edges would be asked for, then
 *   the redirects; if it is empty, the file has not been shown to be public
 * @param edges in order of preference
 * @returns base URLs, each once, at most `MAX_USED_EDGES`
 */
export function usableEdges(
  requests: readonly AskedFor[],
  edges: readonly OfferedEdge[],
): string[] {
  const [first] = requests;
  if (first === undefined || reasonToStayHome(requests) !== undefined) return [];
  const { hostname } = new URL(first.url);
  const allowed = edges.filter(({ hosts }) => hosts === undefined || isAmong(hostname, hosts));
  return [...new Set(allowed.map(({ url }) => url))].slice(0, MAX_USED_EDGES);
}

/**
 * Finds the reason why no edge may be asked, if there is one: an answer, a request with a cookie, a
 * log-in or another field that may be one, or a request to a host outside the public internet. A
 * host's name may still lead to a private address: edges check that (`private-address`). Later URLs
 * may be capabilities, because edges are told only the first one, and public files are often
 * reached by a redirect to a signed URL.
 *
 * @param requests as for `usableEdges`
 */
export function reasonToStayHome(requests: readonly AskedFor[]): HomeReason | undefined {
  for (const { answer } of requests) {
    const said = answer === undefined ? undefined : reasonInAnswer(answer);
    if (said !== undefined) return said;
  }
  for (const { url, headers = {} } of requests) {
    if (!URL.canParse(url)) return 'own-network';
    if (!Object.keys(headers).every(isImpersonal)) return 'fields';
    const { protocol, hostname, username, password } = new URL(url);
    const isHttp = protocol === 'http:' || protocol === 'https:';
    if (!isHttp || !isPublicHost(hostname)) return 'own-network';
    if (username + password !== '') return 'user-name';
  }
  const [first] = requests;
  return first === undefined ? undefined : capabilityIn(new URL(first.url));
}

/** Finds in an answer a reason not to ask edges for the file (RFC 9111, 3; RFC 9213 for CDNs). */
export function reasonInAnswer({ status, headers }: OriginAnswer): HomeReason | undefined {
  if (status === 401 || status === 403 || status === 407) return 'answer-denied';
  for (const name of CACHE_FIELDS) {
    const directives = parseCacheControl(listField(headers, name));
    if (directives.has('private') || directives.has('no-store')) return 'answer-private';
  }
  if (headers['set-cookie'] !== undefined) return 'answer-cookie';
  if (headers['authentication-info'] !== undefined) return 'answer-denied';
  const vary = splitList(listField(headers, 'vary') ?? '').map((name) => name.toLowerCase());
  return vary.some((name) => PERSONAL_VARIANTS.has(name)) ? 'answer-varies' : undefined;
}

const CACHE_FIELDS = ['cache-control', 'cdn-cache-control', 'surrogate-control'] as const;
const PERSONAL_VARIANTS: ReadonlySet<string> = new Set(['*', 'cookie', 'authorization']);

/** Returns true for header fields that cannot be a log-in. */
export function isImpersonal(name: string): boolean {
  return IMPERSONAL.has(name.toLowerCase());
}
