/**
 * Reads bodies of answers in large pieces, and compares them with their digests, if they have one.
 */

import { type ByteRange, rangeBytes } from '@millrace/shared/base/byte-range';
import { type DigestAlgorithm, strongest, toHex } from '@millrace/shared/base/digest';
import { MillraceError } from '@millrace/shared/base/errors';
import type { Sink } from '@millrace/shared/download/transfer/transfer-ports';
import { contentDigests } from '@millrace/shared/http/fields/digest-fields';
import type { Headers } from '@millrace/shared/http/fields/headers';

/** Most bytes to read from a connection at a time. */
const PIECE_BYTES = 1024 * 1024;

/** The browser's names of the digest algorithms that it has. */
const SUBTLE: Readonly<Partial<Record<DigestAlgorithm, string>>> = {
  sha512: 'SHA-512',
  sha256: 'SHA-256',
  sha384: 'SHA-384',
  sha1: 'SHA-1',
};

/**
 * Reads the body of a range, piece by piece; where the browser can, through one buffer of a piece.
 */
export async function readBody(
  response: Response,
  range: ByteRange,
  take: Sink,
  signal: AbortSignal,
  discard: () => void,
): Promise<void> {
  const length = rangeBytes(range);
  let offset = 0;
  try {
    const next = pieces(response);
    for (let piece = await next(); piece !== undefined; piece = await next()) {
      if (offset + piece.length > length) {
        throw new MillraceError('wrong-length', {
          code: 'too-many-bytes',
          values: { mostBytes: length },
        });
      }
      const held = take(range.start + offset, piece);
      offset += piece.length;
      if (held !== undefined) await held;
    }
  } catch (error) {
    discard();
    signal.throwIfAborted();
    throw error instanceof TypeError ? broken(offset, length, error) : error;
  }
  // A body that ends early is a broken connection, however clean its end looks (ANYCAST 3.1.1).
  if (offset !== length) throw broken(offset, length);
}

/**
 * Returns a check of a body against the digest that came with it (RFC 9530, 2); undefined if none
 * came.
 */
export function contentCheck(fields: Headers, range: ByteRange) {
  const known = contentDigests(fields, 206).filter(({ algorithm }) => algorithm in SUBTLE);
  const digest = strongest(known);
  if (digest === undefined) return undefined;
  const body = new Uint8Array(rangeBytes(range));
  return {
    of: (take: Sink): Sink => {
      return (position, bytes) => {
        body.set(bytes, position - range.start);
        return take(position, bytes);
      };
    },
    /** Compares the digests. @throws MillraceError `wrong-digest` */
    async finish(): Promise<void> {
      const hash = await crypto.subtle.digest(SUBTLE[digest.algorithm] as string, body);
      const hex = toHex(new Uint8Array(hash));
      if (hex !== digest.hex)
        throw new MillraceError('wrong-digest', {
          code: 'digest-found',
          values: { algorithm: digest.algorithm, hex },
        });
    },
  };
}

function broken(offset: number, length: number, cause?: unknown): MillraceError {
  return new MillraceError(
    'origin-reset',
    { code: 'part-came', values: { hasBytes: offset, wantedBytes: length } },
    { cause },
  );
}

function pieces(response: Response): () => Promise<Uint8Array | undefined> {
  const { body } = response;
  if (body === null) return async () => undefined;
  let memory = new ArrayBuffer(PIECE_BYTES);
  let reader: ReadableStreamBYOBReader;
  try {
    reader = body.getReader({ mode: 'byob' });
  } catch {
    const other = body.getReader();
    return async () => (await other.read()).value;
  }
  return async () => {
    const { done, value } = await reader.read(new Uint8Array(memory));
    if (done || value === undefined) return undefined;
    memory = value.buffer;
    return value;
  };
}
