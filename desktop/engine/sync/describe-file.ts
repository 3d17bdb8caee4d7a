/** Computes digests of files on disk. */

import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { MillraceError } from '@millrace/shared/base/errors';
import type { SyncContent } from '@millrace/shared/sync/manifest';

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
 * @throws MillraceError `bad-option` if it cannot be read; `file-changed` if it changes during the
 *   read; `interrupted`
 */
export async function describeFile(path: string, signal: AbortSignal): Promise<DescribedFile> {
  const file = await open(path).catch((cause: unknown) => {
    throw new MillraceError('bad-option', `${path} cannot be read`, { cause });
  });
  try {
    const before = await file.stat();
    let pieceBytes = MIN_PIECE_BYTES;
    while (before.size / pieceBytes > MAX_PIECES) pieceBytes *= 2;
    const sha256: string[] = [];
    let piece = createHash('sha256');
    const whole = await hashAll(file, before.size, signal, (bytes, at) => {
      if (before.size <= SMALL_BYTES) return;
      piece.update(bytes);
      // A piece is a multiple of the read buffer, so its end is always seen.
      if (at % pieceBytes !== 0 && at < before.size) return;
      sha256.push(piece.digest('hex'));
      piece = createHash('sha256');
    });
    const after = await file.stat();
    if (whole === undefined || after.size !== before.size || after.mtimeMs !== before.mtimeMs) {
      throw new MillraceError('file-changed', path);
    }
    return {
      size: before.size,
      sha256: whole,
      mode: before.mode,
      modified: Math.max(0, Math.round(before.mtimeMs)),
      ...(sha256.length === 0 ? {} : { pieces: { bytes: pieceBytes, sha256 } }),
    };
  } finally {
    await file.close();
  }
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
  onBytes?: (bytes: Buffer, end: number) => void,
): Promise<string | undefined> {
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafe(Math.min(READ_BYTES, size));
  for (let at = 0; at < size; ) {
    if (signal.aborted) throw new MillraceError('interrupted');
    const want = Math.min(buffer.length, size - at);
    const { bytesRead } = await file.read(buffer, 0, want, at);
    if (bytesRead < want) return undefined;
    const bytes = buffer.subarray(0, bytesRead);
    hash.update(bytes);
    at += bytesRead;
    onBytes?.(bytes, at);
  }
  return hash.digest('hex');
}
