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

/**
 * The algorithm that a name means, as IANA's registry of hash function names, RFC 3230, file name
 * extensions and people write it: `sha-256`, `SHA256`, `sha`; undefined if it is not one of ours.
 */
export function algorithmNamed(name: string): DigestAlgorithm | undefined {
  const plain = name.trim().toLowerCase().replace(/[-_]/g, '');
  // RFC 3230 says SHA and means SHA-1.
  const wanted = plain === 'sha' ? 'sha1' : plain;
  return DIGEST_ALGORITHMS.find((algorithm) => algorithm === wanted);
}

/** The name that IANA's registry of hash function names has: `sha-256` (RFC 5854, 4.2.4). */
export function formatAlgorithm(algorithm: DigestAlgorithm): string {
  return algorithm.replace(/^sha/, 'sha-');
}

/** A digest of hexadecimal digits in either case; undefined if they are not as many as needed. */
export function digestFromHex(algorithm: DigestAlgorithm, text: string): Digest | undefined {
  const hex = text.toLowerCase();
  if (hex.length !== DIGEST_DIGITS[algorithm] || !/^[0-9a-f]+$/.test(hex)) return undefined;
  return { algorithm, hex };
}

/** A digest of base64; undefined if it is none, or not of as many bytes as needed. */
export function digestFromBase64(algorithm: DigestAlgorithm, text: string): Digest | undefined {
  const bytes = DIGEST_DIGITS[algorithm] / 2;
  // Checked before decoding: a decoder that ignores white space would accept two spellings of one
  // digest.
  if (text.length > bytes * 2 || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined;
  try {
    const hex = Array.from(atob(text), (char) => char.charCodeAt(0).toString(16).padStart(2, '0'));
    return digestFromHex(algorithm, hex.join(''));
  } catch {
    return undefined;
  }
}

/** A digest as the command line takes it: `sha-256=HEX`. */
export function formatDigest({ algorithm, hex }: Digest): string {
  return `${formatAlgorithm(algorithm)}=${hex}`;
}
