/**
 * Fields by which an origin lets pages of other sites read its files (CORS and
 * Cross-Origin-Resource-Policy: Fetch, 3.3 and 3.7; Timing-Allow-Origin: Resource Timing, 3.5.1),
 * and answers to preflights (Fetch, 3.3.2).
 *
 * An edge has one variant of a file and asks for it without Origin. So it passes on what an origin
 * says to everybody, and allows nothing by itself; a rule of its operator may (`cors-rule.ts`).
 */

import { type Headers, listField, splitList } from '../fields/headers.ts';
import { KNOWN_DIGEST } from '../fields/known-digest.ts';

const ALLOW_ORIGIN = 'access-control-allow-origin';
/** A serialised origin. `null` is not one: it means pages that nobody can name. */
const ORIGIN = String.raw`https?://(?:[a-z0-9_.-]{1,255}|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?`;
const TOKEN = String.raw`[\w!#$%&'*+.^|~\x60-]{1,100}`;

/** Fields that are passed on, with the values that they may have. */
const FIELDS: Readonly<Record<string, RegExp>> = {
  [ALLOW_ORIGIN]: new RegExp(`^(?:\\*|${ORIGIN})$`, 'i'),
  'access-control-expose-headers': listOf(TOKEN),
  'timing-allow-origin': listOf(String.raw`(?:\*|${ORIGIN})`),
  'cross-origin-resource-policy': /^(?:same-origin|same-site|cross-origin)$/,
};
/** Longest value that is passed on, characters. */
const MAX_CHARS = 1024;

/** Methods of requests for files. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD']);
/**
 * Request fields that a page may send: ranges, conditions and directives to caches. They choose which
 * part of the file comes and how new it is, and show nothing that a plain GET would not.
 */
const REQUEST_FIELDS = [
  ...['range', 'if-range', 'if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since'],
  ...['cache-control', 'pragma', 'prefer', KNOWN_DIGEST],
].join(', ');
/** Time for which a browser may keep the answer to a preflight, seconds. */
export const PREFLIGHT_SECONDS = 600;
/** Fields of an answer that pages need for ranges and versions, and those of the edge itself. */
export const EXPOSED_FIELDS: readonly string[] = [
  ...['accept-ranges', 'content-range', 'content-length', 'content-encoding', 'etag', 'date'],
  ...['repr-digest', 'content-digest', 'content-disposition', 'link', 'location', 'retry-after'],
  ...['age', 'cache-status', 'preference-applied'],
];

/** Returns the fields for pages of other sites of an origin's answer, as far as they are passed on. */
export function crossOriginFields(headers: Headers): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const [name, allowed] of Object.entries(FIELDS)) {
    const value = listField(headers, name)?.trim();
    if (value === undefined || value.length > MAX_CHARS || !allowed.test(value)) continue;
    if (name === ALLOW_ORIGIN && value !== '*' && dependsOnPage(headers)) continue;
    fields[name] = value;
  }
  return fields;
}

/** Returns a header without the fields for pages of other sites. */
export function withoutCrossOrigin<T>(headers: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => FIELDS[name] === undefined));
}

/** Removes the fields that say which pages may read a file, but for those about its use and timing. */
export function withoutCors(headers: Record<string, string>): void {
  for (const name of Object.keys(headers)) {
    if (name.startsWith('access-control-')) delete headers[name];
  }
}

/** Returns true for a browser's question whether a page may send a request. */
export function isPreflight(method: string | undefined, headers: Headers): boolean {
  const { origin, 'access-control-request-method': asked } = headers;
  return method === 'OPTIONS' && origin !== undefined && asked !== undefined;
}

/** Returns true if a preflight asks for a method that requests for files have. */
export function asksForFile(headers: Headers): boolean {
  return METHODS.has(listField(headers, 'access-control-request-method') ?? '');
}

/**
 * Makes the fields of an answer to a preflight for a file.
 *
 * @param fields of the origin's answer with the file; without an allowance in them there is none
 */
export function preflightFields(fields: Headers): Record<string, string> {
  const allowed = crossOriginFields(fields)[ALLOW_ORIGIN];
  return allowed === undefined ? {} : preflightAnswer(allowed);
}

/**
 * Makes the fields of an answer to a preflight that lets a page ask for a file.
 *
 * @param allowed value of Access-Control-Allow-Origin
 * @param more fields of requests that the page may set
 * @param seconds for which a browser may keep the answer
 */
export function preflightAnswer(
  allowed: string,
  more: readonly string[] = [],
  seconds = PREFLIGHT_SECONDS,
): Record<string, string> {
  return {
    [ALLOW_ORIGIN]: allowed,
    'access-control-allow-methods': [...METHODS].join(', '),
    'access-control-allow-headers': [REQUEST_FIELDS, ...more].join(', '),
    'access-control-max-age': String(seconds),
  };
}

/** Returns true if the origin names the asking page in some answers. */
function dependsOnPage(headers: Headers): boolean {
  const vary = splitList(listField(headers, 'vary') ?? '').map((name) => name.toLowerCase());
  return vary.includes('origin') || vary.includes('*');
}

function listOf(item: string): RegExp {
  return new RegExp(`^${item}(?:[ \\t]*,[ \\t]*${item})*$`, 'i');
}
