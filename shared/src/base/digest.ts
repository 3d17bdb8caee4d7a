/** Digests of files and of parts of files, as users, Metalink files and servers give them. */

import type { ByteRange } from './byte-range.ts';

/** Supported algorithms, weakest first, by their names in Node's crypto. */
export const DIGEST_ALGORITHMS = ['md5', 'sha1', 'sha224', 'sha256', 'sha384', 'sha512'] as const;

export type DigestAlgorithm = (typeof DIGEST_ALGORITHMS)[number];

export interface Digest {
  readonly algorithm: DigestAlgorithm;
  /** Lower-case hexadecimal. */
  readonly hex: string;
}

/** Digests of a file's pieces, all of one length except the last (RFC 5854, 4.1.2). */
export interface PieceDigests {
  readonly algorithm: DigestAlgorithm;
  readonly pieceBytes: number;
  /** Lower-case hexadecimal, one per piece, in order. */
  readonly hexes: readonly string[];
  /**
   * Position of the first piece, if the pieces need not cover the file. In torrents of several files a
   * piece may begin in one file and end in the next; nobody can check it who has only one of them.
   */
  readonly from?: number | undefined;
  /** True if each digest is the root of a tree over blocks of 16 KiB (BEP 52), with SHA-256. */
  readonly tree?: true | undefined;
}

/** Returns true if pieces are plain digests of all bytes of a file, in order. */
export function isPlain({ from, tree }: PieceDigests): boolean {
  return from === undefined && tree === undefined;
}

/** Returns true if the number of digests fits a file of some length, in bytes. */
export function fitsLength({ pieceBytes, hexes, from }: PieceDigests, length: number): boolean {
  if (from === undefined) return hexes.length === Math.ceil(length / pieceBytes);
  return hexes.length === 0 || from + (hexes.length - 1) * pieceBytes < length;
}

/** Returns the range of a piece of a file of some length. */
export function pieceRange(
  { pieceBytes, from = 0 }: PieceDigests,
  length: number,
  index: number,
): ByteRange {
  const start = from + index * pieceBytes;
  return { start, end: Math.min(length, start + pieceBytes) };
}

/** Returns the bytes of a file of some length that pieces say nothing about. */
export function unprovenBytes(pieces: PieceDigests, length: number): number {
  const { from = 0, pieceBytes, hexes } = pieces;
  return length - Math.max(0, Math.min(length, from + hexes.length * pieceBytes) - from);
}

/**
 * Compares pieces by what they prove: those of all bytes first, then by algorithm, then the smallest.
 * SHA-1, that of most torrents, shows accidents, and that others have changed a file. It does not bind
 * who made the file: they can make two contents with the same digest, and give some people the other.
 * SHA-256, that of torrents of version 2, leaves them no such choice.
 */
export function byProof(a: PieceDigests, b: PieceDigests): number {
  const partial = ({ from }: PieceDigests) => (from === undefined ? 0 : 1);
  const rank = ({ algorithm }: PieceDigests) => DIGEST_ALGORITHMS.indexOf(algorithm);
  return partial(a) - partial(b) || rank(b) - rank(a) || a.pieceBytes - b.pieceBytes;
}

/** Hexadecimal digits of a digest, by algorithm. */
export const DIGEST_DIGITS: Readonly<Record<DigestAlgorithm, number>> = {
  md5: 32,
  sha1: 40,
  sha224: 56,
  sha256: 64,
  sha384: 96,
  sha512: 128,
};

/** Returns the strongest digest, the one worth checking; undefined if there is none. */
export function strongest(digests: readonly Digest[]): Digest | undefined {
  const rank = (digest: Digest) => DIGEST_ALGORITHMS.indexOf(digest.algorithm);
  return digests.reduce<Digest | undefined>(
    (best, digest) => (best === undefined || rank(digest) > rank(best) ? digest : best),
    undefined,
  );
}

/**
 * Finds the algorithm with a name, spelled as in IANA's registry of hash function names, in RFC
 * 3230, in file name extensions or by people: `sha-256`, `SHA256`, `sha`; undefined if it is not
 * supported.
 */
export function algorithmNamed(name: string): DigestAlgorithm | undefined {
  const plain = name.trim().toLowerCase().replace(/[-_]/g, '');
  // RFC 3230 says SHA and means SHA-1.
  const wanted = plain === 'sha' ? 'sha1' : plain;
  return DIGEST_ALGORITHMS.find((algorithm) => algorithm === wanted);
}

/**
 * Returns the algorithm's name in IANA's registry of hash function names: `sha-256` (RFC 5854,
 * 4.2.4).
 */
export function formatAlgorithm(algorithm: DigestAlgorithm): string {
  return algorithm.replace(/^sha/, 'sha-');
}

/**
 * Reads hexadecimal digits in either case; undefined if their number is wrong or the text has
 * another character.
 */
export function digestFromHex(algorithm: DigestAlgorithm, text: string): Digest | undefined {
  const hex = text.toLowerCase();
  if (hex.length !== DIGEST_DIGITS[algorithm] || !/^[0-9a-f]+$/.test(hex)) return undefined;
  return { algorithm, hex };
}

/** Reads base64; undefined if it is malformed or has the wrong number of bytes. */
export function digestFromBase64(algorithm: DigestAlgorithm, text: string): Digest | undefined {
  const bytes = DIGEST_DIGITS[algorithm] / 2;
  // Checked before decoding: `atob` skips white space, so one digest could be spelled in two ways.
  if (text.length > bytes * 2 || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined;
  try {
    return digestFromHex(algorithm, toHex(Uint8Array.from(atob(text), (c) => c.charCodeAt(0))));
  } catch {
    return undefined;
  }
}

/** Returns lower-case hexadecimal digits, two per byte. */
export function toHex(bytes: Uint8Array): string {
  let hex = '';
  for (const byte of bytes) hex += byte.toString(16).padStart(2, '0');
  return hex;
}

/** Writes a digest as the command line takes it: `sha-256=HEX`. */
export function formatDigest({ algorithm, hex }: Digest): string {
  return `${formatAlgorithm(algorithm)}=${hex}`;
}
