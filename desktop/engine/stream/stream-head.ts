/** Status and header of an answer to a media player, and the range of bytes that it carries. */

import type { ByteRange } from '@millrace/shared/base/byte-range';
import { MillraceError } from '@millrace/shared/base/errors';
import { decideAnswer } from '@millrace/shared/http/answers/answer';
import { formatContentRange } from '@millrace/shared/http/fields/content-range';
import type { Headers } from '@millrace/shared/http/fields/headers';
import { create as createDisposition } from 'content-disposition';

/** The served file, which is complete or still being downloaded. */
export interface StreamedFile {
  readonly name: string;
  /** Length in bytes; undefined if the source does not state it, and then there are no ranges. */
  readonly length: number | undefined;
  /** Media type as the source states it. */
  readonly contentType: string | undefined;
  /** An entity tag for this version of the file, quotes included. */
  readonly etag: string;
}

export interface StreamHead {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Undefined if there is no body. With `end` undefined, the body continues to the end of the file.
   */
  readonly body: { readonly start: number; readonly end: number | undefined } | undefined;
}

/** Media types by extension, for files whose source states none that is useful. */
const TYPES: ReadonlyMap<string, string> = new Map([
  ['aac', 'audio/aac'],
  ['avi', 'video/x-msvideo'],
  ['flac', 'audio/flac'],
  ['m4a', 'audio/mp4'],
  ['m4v', 'video/mp4'],
  ['mkv', 'video/matroska'],
  ['mov', 'video/quicktime'],
  ['mp3', 'audio/mpeg'],
  ['mp4', 'video/mp4'],
  ['mpg', 'video/mpeg'],
  ['oga', 'audio/ogg'],
  ['ogg', 'audio/ogg'],
  ['ogv', 'video/ogg'],
  ['opus', 'audio/ogg'],
  ['ts', 'video/mp2t'],
  ['wav', 'audio/wav'],
  ['webm', 'video/webm'],
]);
const UNKNOWN_TYPE = 'application/octet-stream';
/** Media types that no browser runs: a page would have this machine's origin. */
const HARMLESS = /^(?:audio|video)\/[\w.+-]+(?:\s*;\s*[\w-]+=(?:[\w.+-]+|"[\w., +-]*"))*$/i;

/**
 * Makes the answer to a GET or HEAD. A request for several ranges gets the whole file, which is
 * always allowed (RFC 9110 14.2).
 *
 * @throws MillraceError `method-not-allowed`
 */
export function streamHead(method: string, headers: Headers, file: StreamedFile): StreamHead {
  if (method !== 'GET' && method !== 'HEAD') throw new MillraceError('method-not-allowed');
  const fields: Record<string, string> = {
    'content-type': streamType(file.name, file.contentType),
    'content-disposition': createDisposition(file.name, { type: 'inline' }),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    etag: file.etag,
  };
  const bodyOf = (body: { start: number; end: number | undefined }) =>
    method === 'HEAD' ? undefined : body;
  const { length } = file;
  if (length === undefined) {
    return { status: 200, headers: fields, body: bodyOf({ start: 0, end: undefined }) };
  }
  fields['accept-ranges'] = 'bytes';
  const answer = rangeOf(method, headers, { length, etag: file.etag });
  if (answer === 'unsatisfiable') {
    fields['content-range'] = `bytes */${length}`;
    fields['content-length'] = '0';
    return { status: 416, headers: fields, body: undefined };
  }
  const range = answer ?? { start: 0, end: length };
  fields['content-length'] = String(range.end - range.start);
  if (answer !== undefined) fields['content-range'] = formatContentRange(range, length);
  return { status: answer === undefined ? 200 : 206, headers: fields, body: bodyOf(range) };
}

function rangeOf(
  method: string,
  { range, 'if-range': ifRange }: Headers,
  { length, etag }: { length: number; etag: string },
): ByteRange | 'unsatisfiable' | undefined {
  // Players keep no copy of a stream, so other conditions do not matter.
  const headers = { range, 'if-range': ifRange };
  const answer = decideAnswer(method, headers, { length, validators: { etag } });
  if (answer.kind === 'unsatisfiable') return 'unsatisfiable';
  return answer.kind === 'ranges' && answer.ranges.length === 1 ? answer.ranges[0] : undefined;
}

/** Returns the media type for a player: the source's if it is safe, otherwise by the extension. */
export function streamType(name: string, said: string | undefined): string {
  if (said !== undefined && HARMLESS.test(said)) return said;
  return TYPES.get(/\.(\w+)$/.exec(name)?.[1]?.toLowerCase() ?? '') ?? UNKNOWN_TYPE;
}
