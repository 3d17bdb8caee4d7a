/**
 * Decides which edges may be asked for a file. Edges see what they fetch, keep it, and give it to
 * others, so they are asked only for public files. One rule for every taker: the desktop's engine,
 * the engine in the extension, and the extension itself, which knows what the user has allowed.
 */

import { parseCacheControl } from '../../http/answers/freshness.ts';
import { type Headers, listField, splitList } from '../../http/fields/headers.ts';
import { isAmong } from '../../http/urls/host-list.ts';
import { isPublicHost } from '../../http/urls/public-host.ts';
import { type Capability, capabilityIn } from './capability-url.ts';

/** The origin's answer to the user's own request. */
export interface OriginAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Headers;
}

/** One request of the user's for a file. */
export interface AskedFor {
  readonly url: string;
  /** Fields of that request, as far as they are known; names in any case. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Where there has been one: it decides before the URL does. Redirects are none. */
  readonly answer?: OriginAnswer | undefined;
}

export interface OfferedEdge {
  /** Base URL. */
  readonly url: string;
  /**
   * Hosts, subdomains included, whose files the user allows it to fetch. Undefined: the edge was
   * named for this very file by a caller that knows what is allowed.
   */
  readonly hosts?: readonly string[] | undefined;
}

/** More do not make a download faster. */
export const MAX_USED_EDGES = 8;

/** Fields that do not identify the user to the server. All others may be a log-in. */
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
  /** The link looks private. */
  | Capability
  /** The answer has `Cache-Control: private` or `no-store`. */
  | 'answer-private'
  | 'answer-cookie'
  /** The answer differs by client. */
  | 'answer-varies'
  /** Only logged-in users get it. */
  | 'answer-denied';

/**
 * The edges that may be asked for a file: none unless the file is known to be public.
 *
 * @param requests the user's, in order: first the one that edges would be asked for, then the
 *   targets of redirects. Unknown requests cannot be judged: without any, nothing is shown to be
 *   public
 * @param edges in the order in which they are preferred
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
 * The reason why no edge may be asked, if there is one: one of the requests was made with a cookie,
 * a log-in or another field that may be one, or went to a host outside the public internet. A name
 * may still lead to a private address: edges check that themselves (`private-address`). Of the URLs
 * only the first is judged, because edges are told only that: public files are often given by way
 * of a signed one.
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

/** Finds a reason in an answer not to ask edges for the file (RFC 9111, 3; RFC 9213 for CDNs). */
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

/** True for header fields that cannot log a user in. */
export function isImpersonal(name: string): boolean {
  return IMPERSONAL.has(name.toLowerCase());
}
