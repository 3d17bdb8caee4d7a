/** Computes the digests of a file and of its blocks, in one pass. */

import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import type { PieceDigests } from '@millrace/shared/base/digest';
import { MillraceError } from '@millrace/shared/base/errors';
import { blockBytesFor } from '@millrace/shared/exnode/exnode';
import type { FileState } from './upload-journal.ts';

const READ_BYTES = 1024 * 1024;

export interface FileDigests extends FileState {
  readonly sha256: string;
  readonly blocks: PieceDigests;
}

/**
 * Reads a file.
 *
 * @throws MillraceError `bad-option` if it cannot be read, `file-has-changed`; the signal's reason
 */
export async function digestFile(path: string, signal: AbortSignal): Promise<FileDigests> {
  const file = await open(path, 'r').catch((cause: unknown) => {
    throw new MillraceError('bad-option', `${path} cannot be read`, { cause });
  });
  try {
    const { size: bytes, mtimeMs } = await file.stat();
    const pieceBytes = blockBytesFor(bytes);
    const whole = createHash('sha256');
    const hexes: string[] = [];
    const buffer = Buffer.allocUnsafe(READ_BYTES);
    for (let start = 0; start < bytes; start += pieceBytes) {
      const end = Math.min(bytes, start + pieceBytes);
      const block = createHash('sha256');
      for (let at = start; at < end; ) {
        signal.throwIfAborted();
        const { bytesRead } = await file.read(buffer, 0, Math.min(READ_BYTES, end - at), at);
        if (bytesRead === 0) throw new MillraceError('file-has-changed', 'it has become shorter');
        const piece = buffer.subarray(0, bytesRead);
        whole.update(piece);
        block.update(piece);
        at += bytesRead;
      }
      hexes.push(block.digest('hex'));
    }
    const after = await file.stat();
    if (after.size !== bytes || after.mtimeMs !== mtimeMs) {
      throw new MillraceError('file-has-changed');
    }
    const blocks = { algorithm: 'sha256', pieceBytes, hexes } as const;
    return { bytes, mtimeMs, sha256: whole.digest('hex'), blocks };
  } finally {
    await file.close();
  }
}
