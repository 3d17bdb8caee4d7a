/**
 * Compares a finished file with the digest that its origin states for the whole file (RFC 9530, 3).
 * The browser's own SHA-256 takes all bytes at once, which would put the whole file in memory.
 */

import { type Digest, type DigestAlgorithm, strongest, toHex } from '@millrace/shared/base/digest';
import { MillraceError } from '@millrace/shared/base/errors';
import { md5, sha1 } from '@noble/hashes/legacy.js';
import { sha224, sha256, sha384, sha512 } from '@noble/hashes/sha2.js';

interface Hash {
  update(bytes: Uint8Array): unknown;
  digest(): Uint8Array;
}

const HASHES: Readonly<Record<DigestAlgorithm, { create(): Hash }>> = {
  md5,
  sha1,
  sha224,
  sha256,
  sha384,
  sha512,
};

/**
 * Bytes hashed at a time: so few that other downloads on the same thread wait only some hundredths
 * of a second.
 */
const PIECE_BYTES = 2 * 1024 * 1024;

export interface FileToCheck {
  /** Length of the file, bytes. */
  readonly length: number;
  /** Reads from a position on. @returns the number of bytes read */
  readonly read: (position: number, into: Uint8Array<ArrayBuffer>) => number;
  /** Known digests; the strongest counts, and a file without any passes. */
  readonly digests: readonly Digest[];
}

/**
 * Checks a file against its strongest digest.
 *
 * @param rest lets other work use the thread
 * @throws MillraceError `wrong-digest`, `file-changed`; errors of `read`; the signal's reason
 */
export async function checkFile(
  { length, read, digests }: FileToCheck,
  rest: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const digest = strongest(digests);
  if (digest === undefined) return;
  const hash = HASHES[digest.algorithm].create();
  const memory = new Uint8Array(Math.min(PIECE_BYTES, length));
  for (let at = 0; at < length; at += memory.length) {
    const piece = memory.subarray(0, Math.min(memory.length, length - at));
    if (read(at, piece) !== piece.length) throw new MillraceError('file-changed');
    hash.update(piece);
    await rest();
    signal.throwIfAborted();
  }
  const hex = toHex(hash.digest());
  if (hex === digest.hex) return;
  throw new MillraceError('wrong-digest', `its ${digest.algorithm} is ${hex}, not ${digest.hex}`);
}
