/**
 * Writes multipart/byteranges bodies (RFC 9110 14.6). A part's header depends only on its own
 * range, so the length of the body is known before the first byte, whatever the order of the parts.
 */

import { type ByteRange, rangeBytes } from '../../base/byte-range.ts';
import { formatContentRange } from '../fields/content-range.ts';

export interface Multipart {
  /** Value of the response's Content-Type. */
  readonly contentType: string;
  /** Returns the text before the bytes of the part with `range`. */
  partHeader(range: ByteRange): string;
  /** Text after the last part. */
  readonly end: string;
  /** Returns the length of the whole body for parts with these ranges. */
  bodyBytes(ranges: readonly ByteRange[]): number;
}

/**
 * Makes the texts around the parts of a body.
 *
 * @param boundary up to 70 characters of [0-9A-Za-z]; random, so that no body contains it by chance
 *   (our own reader uses the lengths, others search for the boundary)
 * @param partType Content-Type of the parts
 * @param total length of the whole file
 */
export function multipart(boundary: string, partType: string, total: number): Multipart {
  const partHeader = (range: ByteRange) =>
    `\r\n--${boundary}\r\nContent-Type: ${partType}\r\n` +
    `Content-Range: ${formatContentRange(range, total)}\r\n\r\n`;
  const end = `\r\n--${boundary}--\r\n`;
  return {
    contentType: `multipart/byteranges; boundary=${boundary}`,
    partHeader,
    end,
    bodyBytes: (ranges) =>
      ranges.reduce((sum, r) => sum + partHeader(r).length + rangeBytes(r), end.length),
  };
}
