/**
 * Decides which answers of an origin without a file may go to its clients as they are, and how long
 * they may be kept (RFC 9111 3, 4.2.2).
 */

import type { Headers } from '../fields/headers.ts';
import { listField } from '../fields/headers.ts';
import {
  type Freshness,
  type FreshTimes,
  parseCacheControl,
  readFreshness,
  withTimes,
} from './freshness.ts';

/**
 * Longest time, in ms, for which such an answer is used while its origin fails (RFC 5861 4). Files may
 * be used for longer, since a file that was added meanwhile must not be missing for weeks.
 */
const MAX_STALE_MS = 24 * 3_600_000;

/** Statuses that may be kept although the origin does not say how long (RFC 9110 15.1). */
const KEPT_BY_DEFAULT: ReadonlySet<number> = new Set([
  ...[203, 204, 300, 301, 308, 404, 405, 410, 414, 501],
]);
/** Statuses whose meaning is known (RFC 9110 15, RFC 6585), for must-understand. */
const UNDERSTOOD: ReadonlySet<number> = new Set([
  ...KEPT_BY_DEFAULT,
  ...[201, 202, 302, 303, 307, 400, 402, 403, 406, 409, 411, 413, 415, 417, 422, 426, 428, 429],
  ...[431, 500, 502, 503, 504, 505],
]);
/**
 * Statuses that are about the edge's own request: its range, its conditions, its connection; and
 * log-ins, for which browsers would ask in the edge's name.
 */
const OF_REQUEST: ReadonlySet<number> = new Set([
  ...[205, 206, 304, 401, 407, 408, 412, 416, 421, 425, 511],
]);

/** Returns true for an answer that may go to clients. A redirect that leads somewhere may not. */
export function isPassable(status: number, headers: Headers): boolean {
  if (status <= 200 || status > 599 || OF_REQUEST.has(status)) return false;
  return status < 300 || status >= 400 || headers.location === undefined;
}

/**
 * Reads how long such an answer may be used. Only answers that caches may keep by themselves, and that
 * are not of a failing server, are used while the origin fails.
 *
 * @param requestedAt Unix milliseconds at which the request was sent
 * @param arrivedAt Unix milliseconds at which the answer's header arrived
 * @param times of a rule: those for files stand aside, but for what it says of failing origins
 */
export function answerFreshness(
  status: number,
  headers: Headers,
  requestedAt: number,
  arrivedAt: number,
  { staleIfError, sameForAll }: FreshTimes = {},
): Freshness {
  const stated = readFreshness(headers, requestedAt, arrivedAt);
  const ruled = withTimes(stated, headers, { staleIfError, sameForAll });
  const mayBeStale = KEPT_BY_DEFAULT.has(status) && status < 500;
  const freshness = {
    ...ruled,
    staleIfErrorMs: mayBeStale ? Math.min(ruled.staleIfErrorMs, MAX_STALE_MS) : 0,
  };
  const directives = parseCacheControl(listField(headers, 'cache-control'));
  if (directives.has('no-store') && directives.has('must-understand') && !UNDERSTOOD.has(status)) {
    return { ...freshness, notStorable: 'no-store' };
  }
  const isStated =
    ['max-age', 's-maxage', 'public'].some((name) => directives.has(name)) ||
    headers.expires !== undefined ||
    headers['cdn-cache-control'] !== undefined;
  return isStated || KEPT_BY_DEFAULT.has(status) ? freshness : { ...freshness, lifetimeMs: 0 };
}
