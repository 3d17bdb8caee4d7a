/** Computes the digests of a file that is stored, and of its blocks, in one pass. */

import type { PieceDigests } from '@millrace/shared/base/digest';
import { blockBytesFor } from '@millrace/shared/exnode/exnode';
import type { FileState, UploadSource } from '../archive/upload-source.ts';
import { digestBytes } from '../hash/digest-pieces.ts';

export interface FileDigests extends FileState {
  readonly sha256: string;
  readonly blocks: PieceDigests;
}

/** Reads a file. @throws MillraceError `file-has-changed`; Error of the disk; the signal's reason */
export async function digestSource(
  source: UploadSource,
  signal: AbortSignal,
): Promise<FileDigests> {
  const { bytes } = source.state;
  const pieceBytes = blockBytesFor(bytes);
  const read = (into: Buffer, position: number) => source.read(into, position);
  const { sha256, hexes } = await digestBytes(read, bytes, pieceBytes, signal);
  await source.check();
  return { ...source.state, sha256, blocks: { algorithm: 'sha256', pieceBytes, hexes } };
}
