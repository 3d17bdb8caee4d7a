/**
 * Chooses the header fields of an origin's answer that a shared cache keeps and passes on: all that
 * describe the file (RFC 9111 3.1), but for those that rule the connection, the message, a log-in, or
 * the web origin of the edge, which the files of all origins share.
 */

import { MAX_PASSED_FIELD_CHARS } from '../../base/limits.ts';
import { type Headers, listField, splitList } from '../fields/headers.ts';
import { ANY_LABEL, LABEL_FIELDS } from '../fields/labels.ts';
import { rebuildLinks } from '../urls/link-rebuild.ts';
import { crossOriginFields } from './cross-origin.ts';

/** Most fields of one answer that are kept, and most characters of all their names and values. */
const MAX_FIELDS = 64;
const MAX_FIELDS_CHARS = 12 * 1024;

/** Names and values that can be sent on (RFC 9110 5.1, 5.5). */
const NAME = /^[\w!#$%&'*+.^|~\x60-]{1,100}$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Fields that are never passed on as the origin has written them. */
const WITHHELD: ReadonlySet<string> = new Set([
  // Of the connection (RFC 9110 7.6.1).
  ...['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding'],
  ...['upgrade', 'http2-settings', 'alt-svc', 'alt-used'],
  // Of one message: the edge's own messages have other lengths, ranges and codings.
  ...['content-length', 'content-range', 'content-encoding', 'content-digest', 'accept-ranges'],
  ...['age', 'via', 'cache-status', 'preference-applied', 'location'],
  // Of one visitor, and of log-ins, for which browsers would ask in the name of the edge.
  ...['set-cookie', 'set-cookie2', 'www-authenticate', 'authentication-info'],
  ...['proxy-authenticate', 'proxy-authentication-info', 'proxy-authorization', 'set-login'],
  // Of the web origin: they would hold for the edge's own pages and for all other files.
  ...['content-security-policy', 'content-security-policy-report-only', 'x-content-type-options'],
  ...['strict-transport-security', 'expect-ct', 'public-key-pins', 'public-key-pins-report-only'],
  ...['clear-site-data', 'service-worker-allowed', 'origin-agent-cluster', 'use-as-dictionary'],
  ...['accept-ch', 'critical-ch', 'nel', 'report-to', 'reporting-endpoints'],
  ...['activate-storage-access', 'observe-browsing-topics', 'supports-loading-mode'],
  // Browsers refuse sandboxed pages with these.
  ...['cross-origin-opener-policy', 'cross-origin-opener-policy-report-only'],
  ...['cross-origin-embedder-policy', 'cross-origin-embedder-policy-report-only'],
  // Judged before.
  ...['timing-allow-origin', 'cross-origin-resource-policy'],
  // Links, which would lead from the edge's address to elsewhere; Link is rebuilt.
  ...['link', 'refresh', 'sourcemap', 'x-sourcemap', 'speculation-rules'],
  // Orders to a proxy before the edge, such as to send one of its own files.
  ...['x-sendfile', 'x-lighttpd-send-file', 'x-reproxy-url'],
]);
/** Beginnings of such names: reserved ones of browsers, proxies, CORS and this project. */
const WITHHELD_GROUPS =
  /^(?:sec-|proxy-|access-control-|attribution-|x-accel-|millrace-|x-bigfile)/;

/** Fields about the bytes of a message, true of the file only where the message has all of it. */
const OF_BODY: ReadonlySet<string> = new Set(['content-md5', 'digest']);

/** Fields that tell the versions of a file apart, or what it contains. */
const OF_VERSION: ReadonlySet<string> = new Set([
  ...['content-type', 'etag', 'last-modified', 'repr-digest', 'date', 'vary', ...OF_BODY],
]);

/** Fields that a file needs most: they have room before all others. */
const FIRST = [
  ...['content-type', 'content-disposition', 'etag', 'last-modified', 'repr-digest'],
  ...['cache-control', 'cdn-cache-control', 'expires', 'date', 'vary'],
  ...LABEL_FIELDS,
];

/**
 * Returns the fields of an origin's answer that are kept and passed on, each as one line. Those that
 * are too long, or that do not fit in beside the others, are left out.
 *
 * @param url that the answer came from, after redirects
 * @param whole true if the body of the answer is the whole file
 */
export function passedFields(
  headers: Headers,
  url: string,
  whole: boolean,
): Record<string, string> {
  const fields = crossOriginFields(headers);
  const listed = splitList(listField(headers, 'connection') ?? '').map((n) => n.toLowerCase());
  const connection = new Set(listed);
  let room = MAX_FIELDS_CHARS;
  let count = 0;
  for (const name of new Set([...FIRST, ...Object.keys(headers)])) {
    const value = listField(headers, name);
    if (value === undefined || name in fields || connection.has(name)) continue;
    if (isWithheld(name) || (!whole && OF_BODY.has(name))) continue;
    if (value.length > MAX_PASSED_FIELD_CHARS && LABEL_FIELDS.includes(name)) {
      // Labels that are lost would keep the file from being purged by them.
      fields[name] = ANY_LABEL;
      continue;
    }
    if (value.length > MAX_PASSED_FIELD_CHARS || !NAME.test(name) || !VALUE.test(value)) continue;
    const chars = name.length + value.length;
    if (chars > room || count === MAX_FIELDS) continue;
    room -= chars;
    count++;
    fields[name] = value;
  }
  const link = rebuildLinks(headers, url);
  if (link !== undefined) fields.link = link;
  return fields;
}

/** Removes the fields about the bytes of the whole file, for an answer with a part of it. */
export function withoutWholeBody(fields: Record<string, string>): void {
  for (const name of OF_BODY) delete fields[name];
}

/**
 * Returns true for a field that an operator may drop or set: one of the file, but none by which the
 * file's parts and versions are told apart.
 */
export function isFieldOfFile(name: string): boolean {
  return NAME.test(name) && !isWithheld(name) && !OF_VERSION.has(name);
}

/** Returns true for a field that does not go to clients as the origin has written it. */
function isWithheld(name: string): boolean {
  return WITHHELD.has(name) || WITHHELD_GROUPS.test(name);
}
