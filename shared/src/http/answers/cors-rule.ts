/**
 * Fields by which a rule lets pages of other sites read files (Fetch, 3.3), in place of what the
 * origin says, and the answer to their preflights. Credentials are never allowed: an edge has none.
 */

import { splitList } from '../fields/headers.ts';
import { EXPOSED_FIELDS, PREFLIGHT_SECONDS, preflightAnswer, withoutCors } from './cross-origin.ts';

/** Pages of other sites that may read the files of an origin. */
export interface CorsRule {
  /** Origins of pages, in lower case; `https://*.example.com` stands for all subdomains. */
  readonly origins: '*' | readonly string[];
  /** Fields that pages may read besides those that every page may. */
  readonly exposeFields?: readonly string[] | undefined;
  /** Fields of requests that pages may set besides ranges and conditions; they go no further. */
  readonly requestFields?: readonly string[] | undefined;
  /** Time for which a browser may keep the answer to a preflight, milliseconds. */
  readonly maxAge?: number | undefined;
}

/** An origin in a rule. */
export const CORS_ORIGIN =
  /^https?:\/\/(?:\*\.)?(?:[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/i;

/**
 * Changes the header of an answer as the rule says.
 *
 * @param origin of the page: the request's field Origin
 */
export function applyCors(
  rule: CorsRule,
  origin: string | undefined,
  headers: Record<string, string>,
): void {
  withoutCors(headers);
  const { origins, exposeFields = [] } = rule;
  const allowed = allowedOrigin(origins, origin);
  // Only where the answer to another page would be another one.
  if (origins !== '*' && !isSingle(origins)) addVary(headers);
  if (allowed === undefined) return;
  headers['access-control-allow-origin'] = allowed;
  headers['access-control-expose-headers'] = [
    ...new Set([...EXPOSED_FIELDS, ...exposeFields]),
  ].join(', ');
}

/** Makes the fields of an answer to a preflight; none if the page may not read the file. */
export function corsPreflight(rule: CorsRule, origin: string | undefined): Record<string, string> {
  const { origins, requestFields = [], maxAge } = rule;
  const vary: Record<string, string> = {};
  if (origins !== '*' && !isSingle(origins)) addVary(vary);
  const allowed = allowedOrigin(origins, origin);
  if (allowed === undefined || !isAllowed(origins, origin)) return vary;
  const seconds = maxAge === undefined ? PREFLIGHT_SECONDS : Math.floor(maxAge / 1000);
  return { ...vary, ...preflightAnswer(allowed, requestFields, seconds) };
}

/** Returns the value of Access-Control-Allow-Origin. */
function allowedOrigin(origins: CorsRule['origins'], origin: string | undefined) {
  if (origins === '*') return '*';
  // One origin is named to everybody: so there is one answer, which all caches can keep.
  if (isSingle(origins)) return origins[0];
  return isAllowed(origins, origin) ? origin : undefined;
}

function isAllowed(origins: CorsRule['origins'], origin: string | undefined): boolean {
  if (origins === '*') return true;
  const asking = origin?.toLowerCase() ?? '';
  return origins.some((pattern) => {
    const [scheme = '', host = ''] = pattern.split('://*', 2);
    if (!pattern.includes('://*.')) return asking === pattern;
    const isHost = /^https?:\/\/[a-z0-9_.-]+(?::\d{1,5})?$/.test(asking);
    return isHost && asking.startsWith(`${scheme}://`) && asking.endsWith(host);
  });
}

function isSingle(origins: readonly string[]): boolean {
  return origins.length === 1 && origins[0]?.includes('*') === false;
}

function addVary(headers: Record<string, string>): void {
  const { vary } = headers;
  const named = splitList(vary ?? '').map((name) => name.toLowerCase());
  if (named.includes('origin') || named.includes('*')) return;
  headers.vary = vary === undefined || vary === '' ? 'Origin' : `${vary}, Origin`;
}
