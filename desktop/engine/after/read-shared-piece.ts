/** Reads a piece that several complete files share from these files, and computes its digest. */

import { createHash } from 'node:crypto';
import type { Millis } from '@millrace/shared/base/clock';
import type { SharedPiece } from '@millrace/shared/download/metalink/description';
import type { Stretch } from '@millrace/shared/download/torrent/shared-pieces';
import { openPlain } from '../files/open-plain.ts';
import type { DownloadRecord } from '../store/record.ts';

/** A complete file, as its download has left it. */
export type LeftFile = Pick<DownloadRecord, 'path' | 'length' | 'finishedAt'>;

const READ_BYTES = 1024 * 1024;

/**
 * Computes the SHA-1 of a piece.
 *
 * @param fileOf returns a complete file
 * @returns lower-case hexadecimal; undefined if a file cannot be read, or is not as its download has left it
 */
export async function digestOfPiece(
  stretches: readonly Stretch[],
  fileOf: (gid: string) => LeftFile | undefined,
): Promise<string | undefined> {
  const hash = createHash('sha1');
  const buffer = Buffer.alloc(READ_BYTES);
  for (const stretch of stretches) {
    if ('holder' in stretch) {
      const { gid, part } = stretch.holder;
      const file = fileOf(gid);
      const read = file !== undefined && readPart(file, part, hash, buffer);
      if (!(await Promise.resolve(read).catch(() => false))) return undefined;
      continue;
    }
    buffer.fill(0);
    for (let left = stretch.zeros; left > 0; left -= READ_BYTES) {
      hash.update(buffer.subarray(0, Math.min(left, READ_BYTES)));
    }
  }
  return hash.digest('hex');
}

/**
 * Reads the part of a file in a piece.
 *
 * @returns false if the file is not as its download has left it
 * @throws errors of the disk
 */
async function readPart(
  { path, length, finishedAt }: LeftFile,
  { start, end }: SharedPiece,
  hash: { update(bytes: Uint8Array): unknown },
  buffer: Buffer,
): Promise<boolean> {
  const file = await openPlain(path as string);
  try {
    const isAsLeft = async () => {
      const { size, mtimeMs } = await file.stat();
      return size === length && Math.floor(mtimeMs) <= (finishedAt as Millis);
    };
    if (!(await isAsLeft())) return false;
    for (let at = start; at < end; ) {
      const most = Math.min(buffer.length, end - at);
      const { bytesRead } = await file.read(buffer, 0, most, at);
      if (bytesRead === 0) return false;
      hash.update(buffer.subarray(0, bytesRead));
      at += bytesRead;
    }
    return await isAsLeft();
  } finally {
    await file.close();
  }
}
