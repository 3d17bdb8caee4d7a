/** Decides whether a complete file is right, by the digests of the whole file and of its pieces. */

import type { ByteRange } from '@millrace/shared/base/byte-range';
import {
  byProof,
  type Digest,
  fitsLength,
  type PieceDigests,
  strongest,
  unprovenBytes,
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
  /** Digests that the file must have, the strongest first. */
  readonly #digests: readonly Digest[];
  readonly #pieces: PieceDigests | undefined;

  /**
   * @param statements all statements about the file, from any source
   * @param signed digest that somebody vouches for: it is checked, even if another one is stronger
   * @throws MillraceError `contradicting-statements`
   */
  constructor(statements: readonly Statement[], signed?: Digest) {
    const { digests, pieces } = mergeStatements(statements);
    const best = strongest(digests);
    const isBest = signed?.algorithm === best?.algorithm && signed?.hex === best?.hex;
    this.#digests = [best, isBest ? undefined : signed].filter((digest) => digest !== undefined);
    this.#pieces = [...pieces].sort(byProof)[0];
  }

  /** False if no digest is known for the file. */
  get needed(): boolean {
    return this.#digests.length > 0 || this.#pieces !== undefined;
  }

  /** The strongest digest that the whole file must have, if any is known. */
  get wanted(): Digest | undefined {
    return this.#digests[0];
  }

  /** Returns the pieces that a file of some length must have; undefined: none are known of it. */
  piecesOf(length: number): PieceDigests | undefined {
    const pieces = this.#pieces;
    return pieces !== undefined && fitsLength(pieces, length) ? pieces : undefined;
  }

  /** Returns the pieces whose bytes do not match their digest. @throws MillraceError */
  async badPieces(hasher: FileHasher, length: number, signal: AbortSignal): Promise<ByteRange[]> {
    const pieces = this.piecesOf(length);
    if (pieces === undefined) return [];
    return hasher.badPieces(pieces, length, signal);
  }

  /** Returns the bytes that no digest says anything about, of a file that pieces are known of. */
  unproven(length: number): number {
    if (this.#digests.length > 0 || this.#pieces === undefined) return 0;
    return unprovenBytes(this.#pieces, length);
  }

  /**
   * Checks the digests of the whole file.
   *
   * @param hasher the hasher that followed the file's growth, if any
   * @returns the strongest matching digest; undefined if none is known
   * @throws MillraceError `checksum-mismatch`
   */
  async whole(
    file: PartialFile,
    length: number,
    hasher: FileHasher | undefined,
  ): Promise<Digest | undefined> {
    for (const { algorithm, hex: wanted } of this.#digests) {
      const hex = hasher?.algorithms.includes(algorithm)
        ? (await hasher.finish(length)).find((d) => d.algorithm === algorithm)?.hex
        : await storedDigest(file, algorithm, length);
      if (hex !== wanted)
        throw new MillraceError('checksum-mismatch', {
          code: 'digest-is',
          values: { algorithm, hex: hex ?? '' },
        });
    }
    return this.#digests[0];
  }
}
