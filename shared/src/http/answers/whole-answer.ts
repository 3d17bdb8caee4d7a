/** The rule by which whole answers, of origins without ranges, are kept for others (RFC 9111 3). */

import { type Headers, listField } from '../fields/headers.ts';
import { readValidators } from '../fields/validators.ts';
import { type Freshness, isFresh } from './freshness.ts';

/**
 * Returns why a whole answer is not kept, in one word; undefined: it is kept.
 *
 * @param headers of a 200 without a content coding
 * @param length its Content-Length, if it has one
 * @param maxBytes length of the largest file that the cache takes
 * @param freshness of the answer, with the times of the rule for its origin
 */
export function whyNotStreamed(
  headers: Headers,
  length: number | undefined,
  maxBytes: number,
  freshness: Freshness,
): string | undefined {
  if (freshness.notStorable !== undefined) return freshness.notStorable;
  // The end of a connection may be the end of the file, or a failure.
  const isFramed = length !== undefined || listField(headers, 'transfer-encoding') !== undefined;
  if (!isFramed) return 'no-end';
  if (length !== undefined && length > maxBytes) return 'too-large';
  // Events are for the clients that listen now, and never make a chunk.
  if (listField(headers, 'content-type')?.startsWith('text/event-stream') === true) return 'events';
  const { etag, weakEtag, lastModified } = readValidators(headers);
  const hasValidator = (etag ?? weakEtag ?? lastModified) !== undefined;
  return hasValidator || isFresh(freshness, freshness.arrivedAt) ? undefined : 'no-ranges';
}
