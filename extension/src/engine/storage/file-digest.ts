/**
 * Compares a finished file with the digest that its origin states for the whole (RFC 9530, 3). The
 * browser's own SHA-256 takes all bytes at once, which would be the whole file in memory.
 */

import { type Digest, type DigestAlgorithm, strongest } from '@millrace/shared/base/digest';
import { MillraceError } from '@millrace/shared/base/errors';
import { md5, sha1 } from '@noble/hashes/legacy.js';
import { sha224, sha256, sha384, sha512 } from '@noble/hashes/sha2.js';
import { toHex } from './hex.ts';

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

/** Hashed at a time, some hundredths of a second: other downloads run on the same thread. */
const PIECE_BYTES = 2 * 1024 * 1024;

export interface FileToCheck {
  /** Bytes. */
  readonly length: number;
  /** Reads from a position on. @returns how many bytes there were */
  readonly read: (position: number, into: Uint8Array<ArrayBuffer>) => number;
  /** Digests that are known; the strongest counts, and a file without any passes. */
  readonly digests: readonly Digest[];
}

/**
 * @param rest lets others have the thread
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
