/** Decides how long a pointer to a file's current version may be used, and what ends that. */

import type { Millis } from '../../base/clock.ts';
import { ERRORS, type ErrorCode, isPassing } from '../../base/errors.ts';
import {
  currentAge,
  type Freshness,
  isFresh,
  isUsableOnError,
  parseCacheControl,
  type RequestDemands,
} from '../../http/answers/freshness.ts';

/**
 * Time for which content that is known to have the requested digest needs no revalidation: it
 * cannot change. The time is limited, so that the origin can withdraw the file.
 */
const VERIFIED_MS = 3_600_000;

/** Longest freshness of content that may have the digest: the file may be replaced any moment. */
const UNVERIFIED_MS = 60_000;

/** Share of the longest silence allowed to an origin after which clients get the stale file. */
const PATIENCE = 1 / 3;

/**
 * Freshness of content that was requested by its digest (WORLDS 4.2): verified content stays fresh,
 * and unverified content is revalidated soon.
 *
 * @param stated by the origin
 * @param verified whether the content is known to have the digest
 */
export function freshnessByDigest(stated: Freshness, verified: boolean): Freshness {
  const { lifetimeMs, initialAgeMs } = stated;
  return {
    ...stated,
    lifetimeMs: verified
      ? Math.max(lifetimeMs, initialAgeMs + VERIFIED_MS)
      : Math.min(lifetimeMs, initialAgeMs + UNVERIFIED_MS),
  };
}

/**
 * Returns true if a request can be answered with the pointer, without asking the origin.
 *
 * @param now Unix milliseconds
 */
export function isGoodFor(
  freshness: Freshness,
  { maxAgeMs = Number.POSITIVE_INFINITY }: Pick<RequestDemands, 'maxAgeMs'>,
  now: Millis,
): boolean {
  return isFresh(freshness, now) && currentAge(freshness, now) <= maxAgeMs;
}

/**
 * Returns true if a fresh pointer answers a reload, because the file does not change while it is fresh
 * (RFC 8246). A client that wants the origin to be asked sends no-cache.
 */
export function isGoodForReload(
  freshness: Freshness,
  fields: Readonly<Record<string, string>>,
  { maxAgeMs }: Pick<RequestDemands, 'maxAgeMs'>,
  now: Millis,
): boolean {
  if (maxAgeMs !== 0 || !isFresh(freshness, now)) return false;
  return parseCacheControl(fields['cache-control']).has('immutable');
}

/**
 * Returns the seconds for which a pointer stays fresh; less than 0: it has been stale for that
 * time.
 */
export function secondsLeft(freshness: Freshness, now: Millis): number {
  return Math.floor((freshness.lifetimeMs - currentAge(freshness, now)) / 1000);
}

/**
 * Decides about a pointer when the current version could not be found out: it is used although it
 * is `stale` (RFC 5861 4), `forgotten` if the failure says that it is no longer valid, or `kept`
 * for later requests.
 *
 * @param freshness of the pointer; undefined: there is none
 * @param now Unix milliseconds
 */
export function afterFailure(
  code: ErrorCode,
  freshness: Freshness | undefined,
  now: Millis,
): 'stale' | 'forgotten' | 'kept' {
  const row = ERRORS[code];
  const isSilent = isPassing(row) && row.bytes === 'kept';
  if (isSilent && freshness !== undefined && isUsableOnError(freshness, now)) return 'stale';
  return row.file === undefined ? 'kept' : 'forgotten';
}

/**
 * Returns how long a client waits to hear of the current version before it gets the stale one. For this
 * client, an origin that is silent for so long has failed (RFC 5861 4), although it may answer others
 * yet: nobody should wait out the longest silence for a file that is there.
 *
 * @param freshness of the pointer; undefined: there is none
 * @param timeoutMs longest silence that an origin is allowed
 * @param now Unix milliseconds
 * @returns milliseconds; undefined: until the origin has answered or failed
 */
export function patienceMs(
  freshness: Freshness | undefined,
  { revalidate, maxAgeMs }: Pick<RequestDemands, 'revalidate' | 'maxAgeMs'>,
  timeoutMs: Millis,
  now: Millis,
): Millis | undefined {
  if (freshness === undefined || revalidate || maxAgeMs !== undefined) return undefined;
  return isUsableOnError(freshness, now) ? timeoutMs * PATIENCE : undefined;
}
