/**
 * Computes the freshness of a stored response for a shared cache (RFC 9111). Millrace uses it for
 * pointers only: chunks with a version tag never go stale.
 */

import type { Millis } from '../../base/clock.ts';
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

/** Directives that forbid the use of a stale response (RFC 9111 4.2.4, 5.2.2.10). */
const MUST_ASK = ['must-revalidate', 'proxy-revalidate', 's-maxage', 'no-cache'];

/** Time, in ms, for which a stale pointer may be served while the origin is down (RFC 5861 4). */
export const DEFAULT_STALE_IF_ERROR_MS = 24 * 3_600_000;

/** Longest CDN-Cache-Control that is read. */
const MAX_TARGETED_CHARS = 1024;
const BARE_ITEM = String.raw`(?:-?\d{1,15}(?:\.\d{1,3})?|"(?:[ !#-\[\]-~]|\\["\\])*"|[A-Za-z*][\w!#$%&'*+.^|~:/\x60-]*|\?[01])`;
const PARAMETER = `(?:; *[a-z*][a-z0-9_.*-]*(?:=${BARE_ITEM})?)`;
const MEMBER = `[A-Za-z*][A-Za-z0-9_.*-]*(?:=${BARE_ITEM})?${PARAMETER}*`;
/** A dictionary of structured fields without inner lists (RFC 9651 3.2); keys may be in capitals. */
const DICTIONARY = new RegExp(`^${MEMBER}(?:[ \\t]*,[ \\t]*${MEMBER})*$`);
const PARAMETERS = new RegExp(PARAMETER, 'g');

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
  /**
   * Milliseconds after its lifetime for which it may be used while the origin is asked (RFC 5861 3);
   * default 0.
   */
  readonly staleWhileRevalidateMs?: number | undefined;
}

/**
 * Reads the caching directives of a 200 or 206.
 *
 * @param requestedAt Unix milliseconds at which the request was sent
 * @param arrivedAt Unix milliseconds at which the response header arrived
 */
export function readFreshness(headers: Headers, requestedAt: number, arrivedAt: number): Freshness {
  const targeted = targetedDirectives(headers);
  const directives = targeted ?? parseCacheControl(listField(headers, 'cache-control'));
  const date = parseHttpDate(listField(headers, 'date')) ?? arrivedAt;
  // The first member counts where there are several (RFC 9111 5.1).
  const stated = splitList(listField(headers, 'age') ?? '')[0];
  const initialAgeMs = Math.max(
    0,
    arrivedAt - date,
    (seconds(stated) ?? 0) + Math.max(0, arrivedAt - requestedAt),
  );
  const staleMs = (name: string, otherwise: number) =>
    MUST_ASK.some((directive) => directives.has(directive))
      ? 0
      : (seconds(directives.get(name)) ?? otherwise);
  const staleWhileRevalidateMs = staleMs('stale-while-revalidate', 0);
  return {
    notStorable: whyNotStorable(headers, directives),
    initialAgeMs,
    arrivedAt,
    lifetimeMs: lifetime(headers, directives, date, targeted !== undefined),
    staleIfErrorMs: staleMs('stale-if-error', DEFAULT_STALE_IF_ERROR_MS),
    ...(staleWhileRevalidateMs > 0 ? { staleWhileRevalidateMs } : {}),
  };
}

/**
 * Returns the time by which an origin had generated a response, for judging If-Modified-Since by it
 * where there is no Last-Modified (RFC 9111 4.3.2). A client whose copy was generated later has the
 * same content, or newer.
 *
 * It is later than Date, for which the RFC would have it. Date is in whole seconds: copies with the
 * same Date may be of before and of after a change within that second. And Date is by the origin's
 * clock, which may be slow, while the condition may be by the client's.
 *
 * A client that dates its copy by the time at which it received it (RFC 9110 13.1.3), and received
 * it from another cache, can have older content nevertheless, as it can with Last-Modified.
 *
 * @param arrivedAt Unix milliseconds at which the response header arrived
 * @returns Unix milliseconds
 */
export function generatedBy(headers: Headers, { arrivedAt }: Pick<Freshness, 'arrivedAt'>): Millis {
  const date = parseHttpDate(listField(headers, 'date'));
  return date === undefined ? arrivedAt : Math.max(date + 1000, arrivedAt);
}

/** Times of an operator's rule, milliseconds, in place of those that the origin states. */
export interface FreshTimes {
  readonly fresh?: number | undefined;
  readonly staleWhileRevalidate?: number | undefined;
  readonly staleIfError?: number | undefined;
  /**
   * True if the origin's files are the same for all: its cookies, and Vary with Cookie or
   * Authorization, which caches do not send it, keep no file from being stored.
   */
  readonly sameForAll?: boolean | undefined;
}

/**
 * Applies a rule's times, which begin when the answer arrives. What the origin forbids stays forbidden:
 * to store the file, to use it unasked (no-cache), to use it when it is stale (must-revalidate).
 */
export function withTimes(read: Freshness, headers: Headers, times: FreshTimes): Freshness {
  const { fresh, staleWhileRevalidate, staleIfError } = times;
  const stated =
    times.sameForAll === true && read.notStorable !== undefined
      ? { ...read, notStorable: whyNotStorableForAll(headers) }
      : read;
  if (fresh === undefined && staleWhileRevalidate === undefined && staleIfError === undefined) {
    return stated;
  }
  const directives =
    targetedDirectives(headers) ?? parseCacheControl(listField(headers, 'cache-control'));
  if (directives.has('no-cache')) return stated;
  const lifetimeMs = fresh === undefined ? stated.lifetimeMs : stated.initialAgeMs + fresh;
  if (directives.has('must-revalidate') || directives.has('proxy-revalidate')) {
    return { ...stated, lifetimeMs };
  }
  return {
    ...stated,
    lifetimeMs,
    staleWhileRevalidateMs: staleWhileRevalidate ?? stated.staleWhileRevalidateMs,
    staleIfErrorMs: staleIfError ?? stated.staleIfErrorMs,
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

/** Returns true while the response may be used although the origin is only being asked. */
export function isUsableMeanwhile(f: Freshness, now: number): boolean {
  return currentAge(f, now) < f.lifetimeMs + (f.staleWhileRevalidateMs ?? 0);
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
  // A cache that understands the status may store the response (RFC 9111 5.2.2.3).
  if (directives.has('no-store') && !directives.has('must-understand')) return 'no-store';
  if (directives.has('private')) return 'private';
  if (headers['set-cookie'] !== undefined) return 'set-cookie';
  const vary = varyNames(headers);
  const selecting = vary.find((name) => SELECTING.has(name));
  return selecting === undefined ? undefined : `vary-${selecting === '*' ? 'any' : selecting}`;
}

/** The same for an origin whose files are the same for all. */
function whyNotStorableForAll(headers: Headers): string | undefined {
  const directives =
    targetedDirectives(headers) ?? parseCacheControl(listField(headers, 'cache-control'));
  const vary = varyNames(headers).includes('*') ? '*' : '';
  return whyNotStorable({ vary }, directives);
}

/** Returns the members of Vary, in lower case: fields of requests by which an answer was chosen. */
export function varyNames(headers: Headers): string[] {
  return splitList(listField(headers, 'vary') ?? '').map((name) => name.toLowerCase());
}

/**
 * Reads the directives for caches of a network such as this one (RFC 9213), which replace those of
 * Cache-Control, and Expires.
 *
 * @returns undefined if there are none, or if they are malformed: then they do not count
 */
function targetedDirectives(headers: Headers): ReadonlyMap<string, string> | undefined {
  const field = listField(headers, 'cdn-cache-control')?.trim() ?? '';
  if (field === '' || field.length > MAX_TARGETED_CHARS || !DICTIONARY.test(field))
    return undefined;
  const directives = parseCacheControl(field.replace(PARAMETERS, ''));
  const numbers = ['max-age', 's-maxage'].map((name) => directives.get(name));
  if (numbers.some((n) => n !== undefined && !/^-?\d+$/.test(n))) return undefined;
  return /(?:max-age|s-maxage)="/i.test(field) ? undefined : directives;
}

function lifetime(
  headers: Headers,
  directives: ReadonlyMap<string, string>,
  date: number,
  isTargeted: boolean,
): number {
  if (directives.has('no-cache')) return 0;
  const explicit = seconds(directives.get('s-maxage')) ?? seconds(directives.get('max-age'));
  if (explicit !== undefined) return explicit;
  // A malformed number in an explicit directive means stale, not "use the heuristic".
  if (directives.has('s-maxage') || directives.has('max-age')) return 0;
  const expires = isTargeted ? undefined : listField(headers, 'expires');
  if (expires !== undefined) return Math.max(0, (parseHttpDate(expires) ?? 0) - date);
  const lastModified = parseHttpDate(listField(headers, 'last-modified'));
  if (lastModified === undefined) return 0;
  return Math.min(MAX_HEURISTIC_MS, Math.max(0, date - lastModified) * HEURISTIC_SHARE);
}

function seconds(argument: string | undefined): number | undefined {
  if (argument === undefined || !/^\d+$/.test(argument)) return undefined;
  return Math.min(Number(argument), 2 ** 31) * 1000; // RFC 9111 1.2.2: larger means 2^31
}
