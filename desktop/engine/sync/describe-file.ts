/** Computes digests of files on disk. */

import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { MillraceError } from '@millrace/shared/base/errors';
import type { SyncContent } from '@millrace/shared/sync/manifest';
import { digestPieces, pieceBytesFor } from '../hash/digest-pieces.ts';

export interface DescribedFile extends SyncContent {
  readonly mode: number;
  /** Unix milliseconds. */
  readonly modified: number;
}

const READ_BYTES = 1024 * 1024;
/** Largest file, in bytes, that is fetched in one request and needs no digests of pieces. */
export const SMALL_BYTES = 4 * 1024 * 1024;
const MIN_PIECE_BYTES = 1024 * 1024;
const MAX_PIECES = 1024;

/**
 * Reads a file once, for everything that a manifest says about it.
 *
 * @throws MillraceError as `digestPieces`
 */
export async function describeFile(path: string, signal: AbortSignal): Promise<DescribedFile> {
  const bytesFor = (size: number) => pieceBytesFor(size, MIN_PIECE_BYTES, MAX_PIECES);
  const read = await digestPieces(path, bytesFor, signal);
  const { size, sha256, mode, mtimeMs, pieceBytes, hexes } = read;
  const pieces = size <= SMALL_BYTES ? {} : { pieces: { bytes: pieceBytes, sha256: [...hexes] } };
  return { size, sha256, mode, modified: Math.max(0, Math.round(mtimeMs)), ...pieces };
}

/**
 * Returns the SHA-256 of a file of known length, in hexadecimal.
 *
 * @returns undefined if the file cannot be read or has another length
 * @throws MillraceError `interrupted`
 */
export async function digestOf(
  path: string,
  size: number,
  signal: AbortSignal,
): Promise<string | undefined> {
  let file: FileHandle;
  try {
    file = await open(path);
  } catch {
    return undefined;
  }
  try {
    if ((await file.stat()).size !== size) return undefined;
    return await hashAll(file, size, signal);
  } finally {
    await file.close();
  }
}

/** @returns undefined if the file is shorter */
async function hashAll(
  file: FileHandle,
  size: number,
  signal: AbortSignal,
): Promise<string | undefined> {
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafe(Math.min(READ_BYTES, size));
  for (let at = 0; at < size; ) {
    if (signal.aborted) throw new MillraceError('interrupted');
    const want = Math.min(buffer.length, size - at);
    const { bytesRead } = await file.read(buffer, 0, want, at);
    if (bytesRead < want) return undefined;
    hash.update(buffer.subarray(0, bytesRead));
    at += bytesRead;
  }
  return hash.digest('hex');
}
