/**
 * Reads multipart/byteranges bodies as they arrive. The end of a part follows from its
 * Content-Range, never from a search for the boundary in the data. Everything between parts must be
 * exactly what RFC 9110 14.6 and RFC 2046 5.1 allow.
 */

import type { ByteRange } from '../../base/byte-range.ts';
import { MillraceError } from '../../base/errors.ts';
import { MAX_PART_HEADER_BYTES } from '../../base/limits.ts';
import { parseContentRange } from '../fields/content-range.ts';

export type MultipartEvent =
  | { readonly kind: 'part'; readonly range: ByteRange; readonly total: number }
  /** Bytes of the current part; `position` is their position in the file. */
  | { readonly kind: 'data'; readonly position: number; readonly bytes: Uint8Array }
  /** The end boundary: the body is complete. */
  | { readonly kind: 'end' };

/** Returns the boundary of a multipart/byteranges Content-Type; undefined for another type. */
export function multipartBoundary(contentType: string | undefined): string | undefined {
  if (contentType === undefined) return undefined;
  const match =
    /^\s*multipart\/byteranges\s*;(?:.*;)?\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))\s*(?:;|$)/i.exec(
      contentType,
    );
  return match?.[1] ?? match?.[2];
}

export class MultipartReader {
  readonly #delimiter: string;
  /** Text collected before a part's data begins; empty inside data. */
  #text = '';
  /** Position of the next data byte and end of the current part; equal between parts. */
  #position = 0;
  #partEnd = 0;
  #first = true;
  #ended = false;

  constructor(boundary: string) {
    this.#delimiter = `--${boundary}`;
  }

  /** True after the end boundary; until then the body is incomplete. */
  get ended(): boolean {
    return this.#ended;
  }

  /**
   * Takes the next bytes of the body. The `bytes` of data events are views into `input`.
   *
   * @throws MillraceError `malformed-response`; the reader must not be used afterwards
   */
  *push(input: Uint8Array): Generator<MultipartEvent> {
    let at = 0;
    while (at < input.length) {
      if (this.#ended) return; // an epilogue is legal and means nothing
      if (this.#position < this.#partEnd) {
        const take = Math.min(input.length - at, this.#partEnd - this.#position);
        const position = this.#position;
        this.#position += take;
        yield { kind: 'data', position, bytes: input.subarray(at, at + take) };
        at += take;
        continue;
      }
      const event = this.#header(input[at++] as number);
      if (event !== undefined) yield event;
    }
  }

  /** Takes one byte between parts; returns an event when a header is complete. */
  #header(byte: number): MultipartEvent | undefined {
    this.#text += String.fromCharCode(byte);
    if (this.#text.length > MAX_PART_HEADER_BYTES) fail('a part header is too long');
    if (byte !== 0x0a && byte !== 0x2d) return undefined; // only LF and - complete anything
    const text = this.#text.startsWith('\r\n') ? this.#text.slice(2) : this.#text;
    if (text === '') return undefined;
    const expected = `${this.#delimiter}--`;
    if (text === expected) {
      if (this.#first) fail('no part before the end boundary');
      this.#ended = true;
      return { kind: 'end' };
    }
    if (!text.endsWith('\r\n\r\n')) return undefined;
    return this.#partBegins(text);
  }

  #partBegins(text: string): MultipartEvent {
    const lines = text.slice(0, -4).split('\r\n');
    if ((lines.shift() as string).trimEnd() !== this.#delimiter) fail('a boundary is missing');
    const values = lines
      .map((line) => /^content-range\s*:(.*)$/i.exec(line)?.[1])
      .filter((value) => value !== undefined);
    const contentRange = values.length === 1 ? parseContentRange(values[0]) : undefined;
    if (contentRange?.kind !== 'range' || contentRange.total === undefined) {
      return fail('a part has no valid Content-Range');
    }
    if (lines.some((line) => /^content-encoding\s*:(?!\s*identity\s*$)/i.test(line))) {
      fail('a part is encoded');
    }
    this.#text = '';
    this.#first = false;
    this.#position = contentRange.range.start;
    this.#partEnd = contentRange.range.end;
    return { kind: 'part', range: contentRange.range, total: contentRange.total };
  }
}

function fail(detail: string): never {
  throw new MillraceError('malformed-response', `multipart/byteranges: ${detail}`);
}
