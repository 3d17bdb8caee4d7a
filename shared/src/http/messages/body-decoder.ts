/**
 * Finds the end of the body of an HTTP/1.1 answer (RFC 9112 6, 7.1), as strictly as the head is
 * read: ambiguous input is refused instead of guessed at.
 */

import { MillraceError } from '../../base/errors.ts';
import { isTrailerField, type MessageHead } from './message-head.ts';
import { readTransferCodings } from './transfer-coding.ts';

/** The way in which a body is delimited. */
export type BodyFraming =
  | { readonly kind: 'length'; readonly bytes: number }
  | { readonly kind: 'chunked' }
  /** Up to the end of the connection. */
  | { readonly kind: 'close' };

/** Longest line of a chunk's size with its extensions, or of a trailer field, in bytes. */
const MAX_LINE_BYTES = 512;
/** The same for bodies whose framing may break the rules. */
const MAX_MENDED_LINE_BYTES = 16 * 1024;
const MAX_TRAILER_LINES = 100;
/** A chunk's size with extensions, each a name and perhaps a value (RFC 9112 7.1.1). */
const CHUNK_SIZE =
  /^([0-9a-fA-F]{1,16})(?:[\t ]*;[\t ]*[!#$%&'*+.^_`|~0-9A-Za-z-]+(?:[\t ]*=[\t ]*(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+|"(?:[\t\x20\x21\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t\x20-\x7e\x80-\xff])*"))?)*$/;
/** The same with anything behind the size, which other clients skip. */
const BROKEN_CHUNK_SIZE = /^[\t ]*([0-9a-fA-F]{1,16})(?=$|[\t ;])/;
const [CR, LF] = [13, 10];

/**
 * Tells how the body of an answer is delimited.
 *
 * @param mends accepts the codings of `readTransferCodings`; the caller decompresses the body
 * @throws MillraceError `malformed-response` for codings other than chunked, which were not
 *   requested
 */
export function bodyFraming({ framing, headers }: MessageHead, mends = false): BodyFraming {
  if (framing.kind === 'none') return { kind: 'length', bytes: 0 };
  if (framing.kind === 'length') return framing;
  const coding = headers['transfer-encoding'];
  if (coding === undefined) return { kind: 'close' };
  if (typeof coding === 'string' && coding.toLowerCase() === 'chunked') return { kind: 'chunked' };
  const mended = mends ? readTransferCodings(coding) : undefined;
  if (mended !== undefined) return { kind: mended.isChunked ? 'chunked' : 'close' };
  return fail(`transfer coding ${coding}`);
}

/** Finds the body in the bytes of a connection. */
export class BodyDecoder {
  readonly #framing: BodyFraming;
  readonly #mends: boolean;
  #state: 'data' | 'data-end' | 'size' | 'trailer' | 'ended';
  /** Bytes left of the body, or of the current chunk. */
  #left: number;
  #line = '';
  #trailerLines = 0;

  /**
   * @param mends accepts lines of chunks that end without CR, or have anything behind the size, and
   *   a body whose end follows its last chunk at once
   */
  constructor(framing: BodyFraming, mends = false) {
    this.#framing = framing;
    this.#mends = mends;
    this.#left = framing.kind === 'length' ? framing.bytes : 0;
    this.#state = framing.kind === 'chunked' ? 'size' : 'data';
    if (framing.kind === 'length' && framing.bytes === 0) this.#state = 'ended';
  }

  /** True once the body is complete. */
  get ended(): boolean {
    return this.#state === 'ended';
  }

  /**
   * Takes the next bytes of the connection.
   *
   * @param emit told the positions in `bytes` that belong to the body
   * @returns the number of bytes taken: fewer than all if more bytes follow the end of the body
   * @throws MillraceError `malformed-response`
   */
  push(bytes: Uint8Array, emit: (start: number, end: number) => void): number {
    let at = 0;
    while (at < bytes.length && this.#state !== 'ended') {
      at = this.#state === 'data' ? this.#data(bytes, at, emit) : this.#control(bytes, at);
    }
    return at;
  }

  /** Notes that the connection has ended. @returns true if that completes the body */
  close(): boolean {
    const isAfterLastChunk = this.#mends && this.#state === 'trailer' && this.#line === '';
    if (this.#framing.kind === 'close' || isAfterLastChunk) this.#state = 'ended';
    return this.ended;
  }

  #data(bytes: Uint8Array, at: number, emit: (start: number, end: number) => void): number {
    if (this.#framing.kind === 'close') {
      emit(at, bytes.length);
      return bytes.length;
    }
    const end = Math.min(bytes.length, at + this.#left);
    this.#left -= end - at;
    if (this.#left === 0) this.#state = this.#framing.kind === 'length' ? 'ended' : 'data-end';
    emit(at, end);
    return end;
  }

  /** Takes a byte outside the data of a chunk. */
  #control(bytes: Uint8Array, at: number): number {
    const byte = bytes[at] as number;
    const before = this.#line.charCodeAt(this.#line.length - 1);
    if (byte !== LF) {
      if (before === CR) return fail('a chunk');
      const most = this.#mends ? MAX_MENDED_LINE_BYTES : MAX_LINE_BYTES;
      if (this.#line.length === most) return fail('a chunk');
      this.#line += String.fromCharCode(byte);
      return at + 1;
    }
    if (before !== CR && !this.#mends) return fail('a chunk');
    const line = before === CR ? this.#line.slice(0, -1) : this.#line;
    this.#line = '';
    this.#endOfLine(line);
    return at + 1;
  }

  #endOfLine(line: string): void {
    if (this.#state === 'data-end') {
      if (line !== '') return fail('the end of a chunk');
      this.#state = 'size';
    } else if (this.#state === 'size') {
      this.#left = chunkBytes(line, this.#mends ? BROKEN_CHUNK_SIZE : CHUNK_SIZE);
      this.#state = this.#left === 0 ? 'trailer' : 'data';
    } else if (line === '') {
      this.#state = 'ended';
    } else if (++this.#trailerLines > MAX_TRAILER_LINES || !isTrailerField(line)) {
      fail('the trailer');
    }
  }
}

function chunkBytes(line: string, pattern: RegExp): number {
  const size = Number.parseInt(pattern.exec(line)?.[1] ?? '', 16);
  return Number.isSafeInteger(size) ? size : fail('the size of a chunk');
}

function fail(what: string): never {
  throw new MillraceError('malformed-response', `${what} cannot be read`);
}
