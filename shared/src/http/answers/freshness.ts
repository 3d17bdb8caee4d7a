/**
 * Computes the freshness of a stored response for a shared cache (RFC 9111). Millrace uses it for
 * pointers only: chunks with a version tag never go stale.
 */

import { type Headers, listField, splitList } from '../fields/headers.ts';
import { parseHttpDate } from '../fields/http-date.ts';
import { readKnownDigest } from '../fields/known-digest.ts';

/**
 * Members of Vary that keep a response from being stored: it may be for one visitor. Egress sends no
 * field of a client with requests for files that are stored, so by all others there is one variant.
 */
const SELECTING: ReadonlySet<string> = new Set(['*', 'cookie', 'authorization']);

/** Share of the time since Last-Modified for which a file without directives counts as fresh. */
const HEURISTIC_SHARE = 0.1; // RFC 9111 4.2.2 names a tenth as typical

/**
 * Longest heuristic freshness. RFC 9111 allows days for an old file; but a revalidation is one
 * small request for a large file, and a publisher who replaces a file expects the change to show.
 */
export const MAX_HEURISTIC_MS = 60_000;

/** Time, in ms, for which a stale pointer may be served while the origin is down (RFC 5861 4). */
export const DEFAULT_STALE_IF_ERROR_MS = 24 * 3_600_000;

export interface Freshness {
  /** The reason why the response must not be stored; undefined: it may be stored. */
  readonly notStorable: string | undefined;
  /** Age at the moment of arrival, milliseconds (RFC 9111 4.2.3). */
  readonly initialAgeMs: number;
  /** Unix milliseconds at which the response arrived. */
  readonly arrivedAt: number;
  /** Freshness lifetime in milliseconds (RFC 9111 4.2.1). */
  readonly lifetimeMs: number;
  /** Milliseconds after its lifetime for which it may be used while the origin is unreachable. */
  readonly staleIfErrorMs: number;
}

/**
 * Reads the caching directives of a 200 or 206.
 *
 * @param requestedAt Unix milliseconds at which the request was sent
 * @param arrivedAt Unix milliseconds at which the response header arrived
 */
export function readFreshness(headers: Headers, requestedAt: number, arrivedAt: number): Freshness {
  const directives = parseCacheControl(listField(headers, 'cache-control'));
  const date = parseHttpDate(listField(headers, 'date')) ?? arrivedAt;
  const ageField = Number(/^\d{1,9}$/.exec(listField(headers, 'age')?.trim() ?? '')?.[0] ?? 0);
  const initialAgeMs = Math.max(
    0,
    arrivedAt - date,
    ageField * 1000 + Math.max(0, arrivedAt - requestedAt),
  );
  const mustAsk = ['must-revalidate', 'proxy-revalidate', 's-maxage', 'no-cache'];
  return {
    notStorable: whyNotStorable(headers, directives),
    initialAgeMs,
    arrivedAt,
    lifetimeMs: lifetime(headers, directives, date),
    staleIfErrorMs: mustAsk.some((name) => directives.has(name))
      ? 0
      : (seconds(directives.get('stale-if-error')) ?? DEFAULT_STALE_IF_ERROR_MS),
  };
}

/** Returns the age at `now`, in milliseconds (RFC 9111 4.2.3). */
export function currentAge(f: Freshness, now: number): number {
  return f.initialAgeMs + Math.max(0, now - f.arrivedAt);
}

/** Returns true while the response may be used without asking the origin. */
export function isFresh(f: Freshness, now: number): boolean {
  return currentAge(f, now) < f.lifetimeMs;
}

/** Returns true while the response may be used if the origin cannot be reached. */
export function isUsableOnError(f: Freshness, now: number): boolean {
  return currentAge(f, now) < f.lifetimeMs + f.staleIfErrorMs;
}

/** The demands that a client's request makes on a stored response (RFC 9111 5.2.1). */
export interface RequestDemands {
  readonly revalidate: boolean;
  readonly onlyIfCached: boolean;
  readonly maxAgeMs: number | undefined;
  /** SHA-256 that the content must have, hexadecimal, if the client knows it. */
  readonly digest?: string | undefined;
}

/**
 * Reads the Cache-Control and Pragma of a request, and the digest it demands.
 *
 * @throws MillraceError `bad-request` for a malformed Millrace-Digest
 */
export function readDemands(headers: Headers): RequestDemands {
  const field = listField(headers, 'cache-control');
  const directives = parseCacheControl(field);
  const pragma = field === undefined && /no-cache/i.test(listField(headers, 'pragma') ?? '');
  return {
    revalidate: directives.has('no-cache') || pragma,
    onlyIfCached: directives.has('only-if-cached'),
    maxAgeMs: seconds(directives.get('max-age')),
    digest: readKnownDigest(headers),
  };
}

/** Reads Cache-Control directives by lower-case name; the first of each name counts. */
export function parseCacheControl(value: string | undefined): ReadonlyMap<string, string> {
  const directives = new Map<string, string>();
  for (const item of splitList(value ?? '')) {
    const equals = item.indexOf('=');
    const name = (equals < 0 ? item : item.slice(0, equals)).trim().toLowerCase();
    const argument = equals < 0 ? '' : item.slice(equals + 1).trim();
    if (!directives.has(name)) directives.set(name, argument.replace(/^"(.*)"$/, '$1'));
  }
  return directives;
}

function whyNotStorable(
  headers: Headers,
  directives: ReadonlyMap<string, string>,
): string | undefined {
  if (directives.has('no-store')) return 'no-store';
  if (directives.has('private')) return 'private';
  if (headers['set-cookie'] !== undefined) return 'set-cookie';
  const vary = splitList(listField(headers, 'vary') ?? '').map((name) => name.toLowerCase());
  const selecting = vary.find((name) => SELECTING.has(name));
  return selecting === undefined ? undefined : `vary-${selecting === '*' ? 'any' : selecting}`;
}

function lifetime(headers: Headers, directives: ReadonlyMap<string, string>, date: number): number {
  if (directives.has('no-cache')) return 0;
  const explicit = seconds(directives.get('s-maxage')) ?? seconds(directives.get('max-age'));
  if (explicit !== undefined) return explicit;
  // A malformed number in an explicit directive means stale, not "use the heuristic".
  if (directives.has('s-maxage') || directives.has('max-age')) return 0;
  const expires = listField(headers, 'expires');
  if (expires !== undefined) return Math.max(0, (parseHttpDate(expires) ?? 0) - date);
  const lastModified = parseHttpDate(listField(headers, 'last-modified'));
  if (lastModified === undefined) return 0;
  return Math.min(MAX_HEURISTIC_MS, Math.max(0, date - lastModified) * HEURISTIC_SHARE);
}

function seconds(argument: string | undefined): number | undefined {
  if (argument === undefined || !/^\d+$/.test(argument)) return undefined;
  return Math.min(Number(argument), 2 ** 31) * 1000; // RFC 9111 1.2.2: larger means 2^31
}
