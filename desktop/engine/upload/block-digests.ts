/** Computes the digests of a file that is stored, and of its blocks, in one pass. */

import type { PieceDigests } from '@millrace/shared/base/digest';
import { blockBytesFor } from '@millrace/shared/exnode/exnode';
import { digestPieces } from '../hash/digest-pieces.ts';
import type { FileState } from './upload-journal.ts';

export interface FileDigests extends FileState {
  readonly sha256: string;
  readonly blocks: PieceDigests;
}

/** Reads a file. @throws MillraceError as `digestPieces` */
export async function digestFile(path: string, signal: AbortSignal): Promise<FileDigests> {
  const read = await digestPieces(path, blockBytesFor, signal);
  const { size: bytes, mtimeMs, sha256, pieceBytes, hexes } = read;
  return { bytes, mtimeMs, sha256, blocks: { algorithm: 'sha256', pieceBytes, hexes } };
}
