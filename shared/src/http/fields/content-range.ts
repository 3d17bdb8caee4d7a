/** Content-Range of bytes (RFC 9110 14.4), read strictly because the range contract needs it. */

import type { ByteRange } from '../../base/byte-range.ts';

/** A Content-Range; `total` is undefined if the sender wrote `*`. */
export type ContentRange =
  | { readonly kind: 'range'; readonly range: ByteRange; readonly total: number | undefined }
  | { readonly kind: 'unsatisfied'; readonly total: number };

const RANGE = /^bytes (\d{1,16})-(\d{1,16})\/(\d{1,16}|\*)$/i;
const UNSATISFIED = /^bytes \*\/(\d{1,16})$/i;

/** Reads a Content-Range field value; undefined if it is malformed or contradicts itself. */
export function parseContentRange(value: string | undefined): ContentRange | undefined {
  if (value === undefined) return undefined;
  const text = value.trim();
  const unsatisfied = UNSATISFIED.exec(text);
  if (unsatisfied) {
    const total = Number(unsatisfied[1]);
    return Number.isSafeInteger(total) ? { kind: 'unsatisfied', total } : undefined;
  }
  const match = RANGE.exec(text);
  if (!match) return undefined;
  const start = Number(match[1]);
  const last = Number(match[2]);
  const total = match[3] === '*' ? undefined : Number(match[3]);
  if (!Number.isSafeInteger(last + 1) || last < start) return undefined;
  if (total !== undefined && (!Number.isSafeInteger(total) || last >= total)) return undefined;
  return { kind: 'range', range: { start, end: last + 1 }, total };
}

/** Writes the Content-Range of a non-empty range of a file of `total` bytes. */
export function formatContentRange(range: ByteRange, total: number): string {
  return `bytes ${range.start}-${range.end - 1}/${total}`;
}
