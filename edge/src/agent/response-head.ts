/** Makes the response's status line and header from an answer, and plans its body. */

import type { ByteRange } from '@millrace/shared/base/byte-range';
import { SlicePlan } from '@millrace/shared/cdn/chunks/chunk-plan';
import type { Answer } from '@millrace/shared/http/answers/answer';
import { crossOriginFields } from '@millrace/shared/http/answers/cross-origin';
import { withoutWholeBody } from '@millrace/shared/http/answers/passed-fields';
import { formatContentRange } from '@millrace/shared/http/fields/content-range';
import { type Multipart, multipart } from '@millrace/shared/http/messages/multipart';
import { rebuildLinks } from '@millrace/shared/http/urls/link-rebuild';
import type { FileVersion } from '../files/file-version.ts';

export interface ResponseHead {
  readonly status: number;
  readonly headers: Record<string, string>;
  /** The body, if there is one. */
  readonly body: BodyPlan | undefined;
}

export interface BodyPlan {
  readonly slices: SlicePlan;
  readonly inOrder: boolean;
  readonly parts: Multipart | undefined;
}

/** Fields of the origin that a 304 repeats (RFC 9110 15.4.5). */
const NOT_MODIFIED_FIELDS = [
  ...['cache-control', 'cdn-cache-control', 'content-location', 'date', 'etag', 'expires', 'vary'],
];
const DEFAULT_TYPE = 'application/octet-stream';

/**
 * Makes the head of a response, and the slices of chunks that are its body.
 *
 * @param answer any but `precondition-failed` and `unsatisfiable`, which are errors
 * @param boundary random text for multipart bodies
 */
export function responseHead(
  answer: Extract<Answer, { kind: 'not-modified' | 'whole' | 'ranges' }>,
  version: FileVersion,
  chunkBytes: number,
  boundary: () => string,
): ResponseHead {
  if (answer.kind === 'not-modified') {
    // Browsers judge this answer, too, by what it lets pages of other sites do.
    const headers = crossOriginFields(version.fields);
    for (const name of NOT_MODIFIED_FIELDS) {
      const value = version.fields[name];
      if (value) headers[name] = value;
    }
    return { status: 304, headers, body: undefined };
  }
  const type = version.fields['content-type'] ?? DEFAULT_TYPE;
  const headers: Record<string, string> = {
    ...version.fields,
    'content-type': type,
    'accept-ranges': 'bytes',
  };
  if (headers.link !== undefined) replaceLink(headers, version);
  const whole: ByteRange = { start: 0, end: version.length };

  if (answer.kind === 'whole') {
    headers['content-length'] = String(version.length);
    const slices = new SlicePlan(version.length === 0 ? [] : [whole], chunkBytes);
    return {
      status: 200,
      headers,
      body: { slices, inOrder: true, parts: undefined },
    };
  }

  const { ranges, outOfOrder } = answer;
  withoutWholeBody(headers);
  const slices = new SlicePlan(ranges, chunkBytes);
  const [first] = ranges;
  if (ranges.length === 1 && first !== undefined && !outOfOrder) {
    headers['content-length'] = String(first.end - first.start);
    headers['content-range'] = formatContentRange(first, version.length);
    return { status: 206, headers, body: { slices, inOrder: true, parts: undefined } };
  }

  const parts = multipart(boundary(), type, version.length);
  headers['content-type'] = parts.contentType;
  if (outOfOrder) headers['preference-applied'] = 'delivery=out-of-order';
  // Out of order every chunk is a part, too many to add up beforehand: chunked.
  else headers['content-length'] = String(parts.bodyBytes(ranges));
  return { status: 206, headers, body: { slices, inOrder: !outOfOrder, parts } };
}

/** Rebuilt Link fields, by the original fields: files that name mirrors are requested often. */
const rebuiltLinks = new WeakMap<FileVersion['fields'], string | undefined>();

/**
 * Replaces the Link field: one from another node, or from an earlier version of the edge on disk,
 * is not trusted.
 */
function replaceLink(headers: Record<string, string>, { fields, url }: FileVersion): void {
  if (!rebuiltLinks.has(fields)) rebuiltLinks.set(fields, rebuildLinks(fields, url));
  const link = rebuiltLinks.get(fields);
  if (link === undefined) delete headers.link;
  else headers.link = link;
}
