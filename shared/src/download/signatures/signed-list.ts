/** Finds a file in a list of digests that somebody has signed. */

import { DIGEST_ALGORITHMS, type Digest, strongest } from '../../base/digest.ts';
import { MillraceError } from '../../base/errors.ts';
import { parseChecksumFile } from '../metalink/checksum-file.ts';

/** Algorithms that a signature over a list vouches with: for weaker ones, other files can be made. */
const STRONG: ReadonlySet<string> = new Set(
  DIGEST_ALGORITHMS.filter((name) => name !== 'md5' && name !== 'sha1'),
);

/**
 * Returns the strongest digest that a signed list has of a file; undefined if it has none. The list
 * must name the file itself: a line without a name or with a folder may be of another file that the
 * signer has signed, such as an older version.
 *
 * @param text the signed text, and nothing else
 * @param listName name of the list, which may name the algorithm
 * @param fileName last part of the path that the user asked for, decoded
 * @throws MillraceError `contradicting-statements` if the list has two different digests of it
 */
export function signedDigest(
  text: string | Uint8Array,
  listName: string,
  fileName: string,
): Digest | undefined {
  const wanted = fileName.normalize('NFC');
  const found = parseChecksumFile(text, listName)
    .filter(({ name }) => name?.normalize('NFC').replace(/^(?:\.\/)+/, '') === wanted)
    .map(({ digest }) => digest)
    .filter(({ algorithm }) => STRONG.has(algorithm));
  const best = strongest(found);
  if (found.some(({ algorithm, hex }) => algorithm === best?.algorithm && hex !== best.hex)) {
    throw new MillraceError(
      'contradicting-statements',
      `${listName} has two ${best?.algorithm} digests of ${fileName}`,
    );
  }
  return best;
}
