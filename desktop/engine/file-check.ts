/** Whether a complete file is what it should be: by the digests of the whole and of its pieces. */

import { createHash } from 'node:crypto';
import { type ByteRange, rangeBytes } from '@millrace/shared/base/byte-range';
import { MillraceError } from '@millrace/shared/base/errors';
import { mergeStatements, type Statement } from '@millrace/shared/download/description-merge';
import {
  DIGEST_ALGORITHMS,
  type Digest,
  type PieceDigests,
  strongest,
} from '@millrace/shared/download/digest';
import type { PartialFile } from './partial-file.ts';

export class FileCheck {
  readonly #digest: Digest | undefined;
  readonly #pieces: PieceDigests | undefined;

  /**
   * @param statements what the file must be, by whomever
   * @throws MillraceError `contradicting-statements`
   */
  constructor(statements: readonly Statement[]) {
    const { digests, pieces } = mergeStatements(statements);
    this.#digest = strongest(digests);
    const rank = ({ algorithm }: PieceDigests) => DIGEST_ALGORITHMS.indexOf(algorithm);
    this.#pieces = [...pieces].sort((a, b) => rank(b) - rank(a))[0];
  }

  /** False if nothing is known that the file must have. */
  get needed(): boolean {
    return this.#digest !== undefined || this.#pieces !== undefined;
  }

  /** Pieces whose bytes have another digest than they should. */
  async badPieces(file: PartialFile, length: number): Promise<ByteRange[]> {
    const pieces = this.#pieces;
    if (pieces === undefined || pieces.hexes.length !== Math.ceil(length / pieces.pieceBytes)) {
      return [];
    }
    const bad: ByteRange[] = [];
    for (const [i, hex] of pieces.hexes.entries()) {
      const start = i * pieces.pieceBytes;
      const range = { start, end: Math.min(length, start + pieces.pieceBytes) };
      const bytes = Buffer.allocUnsafe(rangeBytes(range));
      await file.read(bytes, start);
      if (createHash(pieces.algorithm).update(bytes).digest('hex') !== hex) bad.push(range);
    }
    return bad;
  }

  /** @throws MillraceError `checksum-mismatch` */
  async whole(file: PartialFile, length: number): Promise<Digest | undefined> {
    const digest = this.#digest;
    if (digest === undefined) return undefined;
    const hex = await file.digest(digest.algorithm, length);
    if (hex === digest.hex) return digest;
    throw new MillraceError('checksum-mismatch', `${digest.algorithm} is ${hex}`);
  }
}
