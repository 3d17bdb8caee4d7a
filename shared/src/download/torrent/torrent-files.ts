/** The files of a torrent, as its two versions list them. */

import type { Digest, PieceDigests } from '../../base/digest.ts';
import type { SharedPiece } from '../metalink/description.ts';

/** A file, or padding, in the order of the torrent. */
export interface Entry {
  readonly path: readonly string[];
  readonly length: number;
  /** Padding and links are not downloaded (BEP 47). */
  readonly isFile: boolean;
  /** True for padding, which is zeros. */
  readonly isZeros?: boolean;
  readonly digests: readonly Digest[];
  /** Root of the tree over the file; undefined: it is of version 1, or empty. */
  readonly root?: Uint8Array | undefined;
}

/** A file with the digests of its pieces. */
export interface Pieced {
  readonly entry: Entry;
  readonly pieces: PieceDigests | undefined;
  readonly shared?: readonly SharedPiece[];
}

/** Returns true if both versions of a hybrid describe the same files. */
export function haveSameFiles(first: readonly Pieced[], second: readonly Pieced[]): boolean {
  const shown = (files: readonly Pieced[]) =>
    files
      .filter(({ entry }) => entry.isFile)
      .map(({ entry }) => `${entry.length} ${entry.path.join('/')}`)
      .sort();
  const [a, b] = [shown(first), shown(second)];
  const [only] = second;
  const isSingle = first.length === 1 && first[0]?.entry.path.length === 0;
  return isSingle
    ? second.length === 1 && only?.entry.length === first[0]?.entry.length
    : a.length === b.length && a.every((one, i) => one === b[i]);
}
