/**
 * Native messaging's frames: a length of 32 bits in the machine's own byte order, then that number
 * of bytes of JSON in UTF-8.
 */

import { endianness } from 'node:os';
import { MillraceError } from '@millrace/shared/base/errors';
import {
  MAX_FROM_BROWSER_BYTES,
  MAX_TO_BROWSER_BYTES,
} from '@millrace/shared/bridge/native/native-api';

const HEAD_BYTES = 4;
const LITTLE = endianness() === 'LE';
const UTF8 = new TextDecoder('utf-8', { fatal: true });

export type Frame = { readonly message: unknown } | { readonly error: MillraceError };

/** Assembles frames from pieces of any size. A frame that is too long is skipped. */
export class FrameReader {
  /** Pieces of the present head or body. */
  #pieces: Buffer[] = [];
  #have = 0;
  /** Length of the present body, bytes; undefined while the head is being read. */
  #length: number | undefined;

  /** Takes a piece. @returns the frames that are complete now */
  *push(piece: Buffer): Generator<Frame> {
    let left = piece;
    while (left.length > 0) {
      const wanted = this.#length ?? HEAD_BYTES;
      const taken = left.subarray(0, wanted - this.#have);
      left = left.subarray(taken.length);
      this.#have += taken.length;
      if (wanted <= MAX_FROM_BROWSER_BYTES) this.#pieces.push(taken);
      const frame = this.#have === wanted ? this.#finish() : undefined;
      if (frame !== undefined) yield frame;
    }
  }

  #finish(): Frame | undefined {
    const bytes = Buffer.concat(this.#pieces);
    const length = this.#length;
    this.#pieces = [];
    this.#have = 0;
    if (length === undefined) {
      this.#length = LITTLE ? bytes.readUInt32LE() : bytes.readUInt32BE();
      return this.#length === 0 ? this.#finish() : undefined;
    }
    this.#length = undefined;
    if (length > MAX_FROM_BROWSER_BYTES) return { error: tooLong(length, MAX_FROM_BROWSER_BYTES) };
    try {
      return { message: JSON.parse(UTF8.decode(bytes)) };
    } catch (cause) {
      return { error: new MillraceError('bad-option', 'that is not JSON', { cause }) };
    }
  }
}

/** Encodes a message. @throws MillraceError `bad-option` if it is too long for browsers */
export function encodeFrame(message: unknown): Buffer {
  const body = Buffer.from(JSON.stringify(message));
  if (body.length > MAX_TO_BROWSER_BYTES) throw tooLong(body.length, MAX_TO_BROWSER_BYTES);
  const head = Buffer.alloc(HEAD_BYTES);
  if (LITTLE) head.writeUInt32LE(body.length);
  else head.writeUInt32BE(body.length);
  return Buffer.concat([head, body]);
}

function tooLong(bytes: number, most: number): MillraceError {
  return new MillraceError('bad-option', `a message of ${bytes} bytes, more than ${most}`);
}
