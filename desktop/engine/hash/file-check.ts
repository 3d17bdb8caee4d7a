/** Decides whether a complete file is right, by the digests of the whole file and of its pieces. */

import type { ByteRange } from '@millrace/shared/base/byte-range';
import {
  DIGEST_ALGORITHMS,
  type Digest,
  type PieceDigests,
  strongest,
} from '@millrace/shared/base/digest';
import { MillraceError } from '@millrace/shared/base/errors';
import {
  mergeStatements,
  type Statement,
} from '@millrace/shared/download/metalink/description-merge';
import type { PartialFile } from '../partial/partial-file.ts';
import type { FileHasher } from './file-hasher.ts';
import { storedDigest } from './stored-digest.ts';

export class FileCheck {
  readonly #digest: Digest | undefined;
  readonly #pieces: PieceDigests | undefined;

  /**
   * @param statements all statements about the file, from any source
   * @throws MillraceError `contradicting-statements`
   */
  constructor(statements: readonly Statement[]) {
    const { digests, pieces } = mergeStatements(statements);
    this.#digest = strongest(digests);
    const rank = ({ algorithm }: PieceDigests) => DIGEST_ALGORITHMS.indexOf(algorithm);
    this.#pieces = [...pieces].sort((a, b) => rank(b) - rank(a))[0];
  }

  /** False if no digest is known for the file. */
  get needed(): boolean {
    return this.#digest !== undefined || this.#pieces !== undefined;
  }

  /** Returns the pieces whose bytes do not match their digest. @throws MillraceError */
  async badPieces(hasher: FileHasher, length: number, signal: AbortSignal): Promise<ByteRange[]> {
    const pieces = this.#pieces;
    if (pieces === undefined || pieces.hexes.length !== Math.ceil(length / pieces.pieceBytes)) {
      return [];
    }
    return hasher.badPieces(pieces, length, signal);
  }

  /**
   * Checks the digest of the whole file.
   *
   * @param hasher the hasher that followed the file's growth, if any
   * @returns the matching digest; undefined if none is known
   * @throws MillraceError `checksum-mismatch`
   */
  async whole(
    file: PartialFile,
    length: number,
    hasher: FileHasher | undefined,
  ): Promise<Digest | undefined> {
    const digest = this.#digest;
    if (digest === undefined) return undefined;
    const { algorithm } = digest;
    const hex = hasher?.algorithms.includes(algorithm)
      ? (await hasher.finish(length)).find((d) => d.algorithm === algorithm)?.hex
      : await storedDigest(file, algorithm, length);
    if (hex === digest.hex) return digest;
    throw new MillraceError('checksum-mismatch', `${algorithm} is ${hex}`);
  }
}
