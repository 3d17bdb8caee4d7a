/** Reads a file of the user once, for the SHA-256 of the whole and of its pieces. */

import { createHash } from 'node:crypto';
import { MillraceError } from '@millrace/shared/base/errors';
import { openPlain } from '../files/open-plain.ts';

const READ_BYTES = 1024 * 1024;

export interface DigestedFile {
  /** Bytes. */
  readonly size: number;
  /** Unix milliseconds. */
  readonly mtimeMs: number;
  /** Permissions and type, as `stat` gives them. */
  readonly mode: number;
  /** SHA-256 of the file, lower-case hexadecimal. */
  readonly sha256: string;
  readonly pieceBytes: number;
  /** SHA-256 of each piece, lower-case hexadecimal; the last piece may be shorter. */
  readonly hexes: readonly string[];
}

/**
 * Reads a file.
 *
 * @param pieceBytesFor returns the bytes of a piece for a file of some size
 * @throws MillraceError `bad-option` if it cannot be read or is no plain file; `file-has-changed` if it
 *   changes meanwhile; the signal's reason
 */
export async function digestPieces(
  path: string,
  pieceBytesFor: (size: number) => number,
  signal: AbortSignal,
): Promise<DigestedFile> {
  const file = await openPlain(path);
  try {
    const { size, mtimeMs, mode } = await file.stat();
    const pieceBytes = pieceBytesFor(size);
    const read = async (into: Buffer, position: number) => {
      const { bytesRead } = await file.read(into, 0, into.length, position);
      if (bytesRead === 0) throw changed(path);
      return bytesRead;
    };
    const digests = await digestBytes(read, size, pieceBytes, signal);
    const after = await file.stat();
    if (after.size !== size || after.mtimeMs !== mtimeMs) throw changed(path);
    return { size, mtimeMs, mode, pieceBytes, ...digests };
  } finally {
    await file.close();
  }
}

/**
 * Reads bytes in their order.
 *
 * @param read fills a part of a buffer, at least one byte, from a position
 * @param size of the whole, bytes
 * @returns digests as of `DigestedFile`
 * @throws what `read` throws; the signal's reason
 */
export async function digestBytes(
  read: (into: Buffer, position: number) => Promise<number>,
  size: number,
  pieceBytes: number,
  signal: AbortSignal,
): Promise<Pick<DigestedFile, 'sha256' | 'hexes'>> {
  const whole = createHash('sha256');
  const hexes: string[] = [];
  const buffer = Buffer.allocUnsafe(Math.min(READ_BYTES, size));
  for (let start = 0; start < size; start += pieceBytes) {
    const end = Math.min(size, start + pieceBytes);
    const piece = createHash('sha256');
    for (let at = start; at < end; ) {
      signal.throwIfAborted();
      const got = await read(buffer.subarray(0, Math.min(buffer.length, end - at)), at);
      const bytes = buffer.subarray(0, got);
      whole.update(bytes);
      piece.update(bytes);
      at += got;
    }
    hexes.push(piece.digest('hex'));
  }
  return { sha256: whole.digest('hex'), hexes };
}

/** Doubles a size of pieces until few enough of them make up a file. */
export function pieceBytesFor(size: number, leastBytes: number, mostPieces: number): number {
  let bytes = leastBytes;
  while (size / bytes > mostPieces) bytes *= 2;
  return bytes;
}

const changed = (path: string) =>
  new MillraceError('file-has-changed', { code: 'path', values: { path } });
