/**
 * Fields of resumable uploads (draft-ietf-httpbis-resumable-upload-15): structured fields (RFC 9651)
 * whose values are one integer, one boolean, or a dictionary of integers. A field with any other
 * value counts as absent, as the draft requires.
 */

import { type Headers, listField } from './headers.ts';

/** Content-Type of a request that appends to an upload. */
export const PARTIAL_UPLOAD = 'application/partial-upload';

/** Status of interim answers that tell the place of an upload and how much of it is stored. */
export const UPLOAD_RESUMPTION = { status: 104, phrase: 'Upload Resumption Supported' } as const;

/** State of an upload, or a request's statements about it; undefined: not stated. */
export interface UploadFields {
  /** Bytes stored, or bytes before the content of the request. */
  readonly offset: number | undefined;
  readonly complete: boolean | undefined;
  /** Length of the whole. */
  readonly length: number | undefined;
}

/** Limits of an upload; undefined: none. */
export interface UploadLimits {
  /** Largest length of the whole, bytes. */
  readonly maxSize: number | undefined;
  /** Time for which the upload still exists, whole seconds. */
  readonly maxAge: number | undefined;
}

/** An integer or boolean of RFC 9651, whose parameters are ignored. */
const INTEGER = /^ *([0-9]{1,15}) *(?:;.*)?$/;
const BOOLEAN = /^ *\?([01]) *(?:;.*)?$/;

/** Reads the fields of a request or an answer. */
export function readUploadFields(headers: Headers): UploadFields {
  const complete = BOOLEAN.exec(listField(headers, 'upload-complete') ?? '')?.[1];
  return {
    offset: integer(headers, 'upload-offset'),
    complete: complete === undefined ? undefined : complete === '1',
    length: integer(headers, 'upload-length'),
  };
}

/** Writes the fields that are stated. */
export function uploadFields(fields: Partial<UploadFields>): Record<string, string> {
  const { offset, complete, length } = fields;
  return {
    ...(offset === undefined ? {} : { 'upload-offset': String(offset) }),
    ...(complete === undefined ? {} : { 'upload-complete': complete ? '?1' : '?0' }),
    ...(length === undefined ? {} : { 'upload-length': String(length) }),
  };
}

/** Reads Upload-Limit, as far as it is understood. */
export function readUploadLimit(headers: Headers): UploadLimits {
  const text = listField(headers, 'upload-limit') ?? '';
  const number = (name: string) => {
    const found = new RegExp(`(?:^|,) *${name}=([0-9]{1,15}) *(?:[,;]|$)`).exec(text)?.[1];
    return found === undefined ? undefined : Number(found);
  };
  return { maxSize: number('max-size'), maxAge: number('max-age') };
}

/** Writes Upload-Limit. */
export function uploadLimit({ maxSize, maxAge }: UploadLimits): string {
  return [
    ...(maxSize === undefined ? [] : [`max-size=${maxSize}`]),
    ...(maxAge === undefined ? [] : [`max-age=${maxAge}`]),
  ].join(', ');
}

function integer(headers: Headers, field: string): number | undefined {
  const digits = INTEGER.exec(listField(headers, field) ?? '')?.[1];
  return digits === undefined ? undefined : Number(digits);
}
