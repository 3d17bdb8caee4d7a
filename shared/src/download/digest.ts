/** Digests of files and of parts of files, as users, Metalink files and servers give them. */

/** Algorithms that are understood, weakest first, by the names that Node's crypto has for them. */
export const DIGEST_ALGORITHMS = ['md5', 'sha1', 'sha224', 'sha256', 'sha384', 'sha512'] as const;

export type DigestAlgorithm = (typeof DIGEST_ALGORITHMS)[number];

export interface Digest {
  readonly algorithm: DigestAlgorithm;
  /** Lower-case hexadecimal. */
  readonly hex: string;
}

/** Digests of the pieces of a file: all of one length, but for the last (RFC 5854, 4.1.2). */
export interface PieceDigests {
  readonly algorithm: DigestAlgorithm;
  readonly pieceBytes: number;
  /** Lower-case hexadecimal, one per piece, in order. */
  readonly hexes: readonly string[];
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

/** The strongest of some digests, the one worth checking; undefined if there is none. */
export function strongest(digests: readonly Digest[]): Digest | undefined {
  const rank = (digest: Digest) => DIGEST_ALGORITHMS.indexOf(digest.algorithm);
  return digests.reduce<Digest | undefined>(
    (best, digest) => (best === undefined || rank(digest) > rank(best) ? digest : best),
    undefined,
  );
}
