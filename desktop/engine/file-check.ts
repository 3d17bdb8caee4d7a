/** Whether a complete file is what it should be: by the digests of the whole and of its pieces. */

import { createHash } from 'node:crypto';
import { type ByteRange, rangeBytes } from '@millrace/shared/base/byte-range';
import { MillraceError } from '@millrace/shared/base/errors';
import { type Digest, type PieceDigests, strongest } from '@millrace/shared/download/digest';
import type { PartialFile } from './partial-file.ts';

export class FileCheck {
  readonly #digest: Digest | undefined;
  readonly #pieces: PieceDigests | undefined;

  /**
   * @param digests what the whole file must have, from whomever
   * @throws MillraceError `checksum-mismatch` where they contradict each other
   */
  constructor(digests: readonly Digest[], pieces: PieceDigests | undefined) {
    for (const a of digests) {
      const other = digests.find((b) => b.algorithm === a.algorithm && b.hex !== a.hex);
      if (other === undefined) continue;
      throw new MillraceError(
        'checksum-mismatch',
        `${a.algorithm} should be ${a.hex} and also ${other.hex}`,
      );
    }
    this.#digest = strongest(digests);
    this.#pieces = pieces;
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
