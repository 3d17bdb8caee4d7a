/** Computes the digest of a file that was not hashed as it grew. */

import { createHash } from 'node:crypto';

const READ_BYTES = 1024 * 1024;

/** The part of `PartialFile` that hashing reads from. */
interface ReadFile {
  /** @returns `into.length` */
  read(into: Buffer, position: number): Promise<number>;
}

/**
 * Reads a stored file, and returns its digest.
 *
 * @param algorithm a name that Node's crypto knows
 * @param length bytes
 * @returns hexadecimal
 * @throws MillraceError `file-not-writable` if the file has become shorter
 */
export async function storedDigest(
  file: ReadFile,
  algorithm: string,
  length: number,
): Promise<string> {
  const hash = createHash(algorithm);
  const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
  for (let at = 0; at < length; ) {
    const piece = buffer.subarray(0, Math.min(READ_BYTES, length - at));
    hash.update(piece.subarray(0, await file.read(piece, at)));
    at += piece.length;
  }
  return hash.digest('hex');
}
