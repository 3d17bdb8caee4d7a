/** Pieces of a stream, for another node that follows it. */

import type { ByteRange } from '@millrace/shared/base/byte-range';
import { MillraceError } from '@millrace/shared/base/errors';
import { chunkRange } from '@millrace/shared/cdn/chunks/chunk-plan';
import type { Chunk } from '../files/chunk.ts';
import type { ChunkRequest } from '../files/chunk-request.ts';
import type { FileVersion } from '../files/file-version.ts';
import type { RunningStream } from './running-stream.ts';

export interface Piece {
  readonly data: Buffer;
  /** Length of the file, once the stream has ended. */
  readonly length: number | undefined;
  /** Ends the use of the memory. */
  release(): void;
}

/** The node's store of chunks. */
interface Chunks {
  /** Returns a chunk, which the caller must release. @throws MillraceError; the signal's reason */
  get(request: ChunkRequest, signal: AbortSignal): Promise<{ readonly chunk: Chunk }>;
}

/** Time for which a piece waits to become a whole chunk, milliseconds. */
const WHOLE_WAIT_MS = 100;

/**
 * Waits until something of a range has come.
 *
 * @param range at most one chunk, of which the end may lie beyond the end of the file
 * @returns the bytes from its start on; none if the file ends there
 * @throws the stream's error; the signal's reason
 */
export async function nextPiece(
  stream: RunningStream,
  { start, end }: ByteRange,
  chunks: Chunks,
  chunkBytes: number,
  signal: AbortSignal,
): Promise<Piece> {
  const follower = stream.follow(true);
  try {
    follower.at(start);
    const patience = AbortSignal.timeout(WHOLE_WAIT_MS);
    let isPatient = true;
    for (;;) {
      if (stream.error !== undefined) throw stream.error;
      const has = Math.min(stream.received, end);
      if (stream.ended || has === end || (!isPatient && has > start)) break;
      try {
        await stream.changed(isPatient ? AbortSignal.any([signal, patience]) : signal);
      } catch (error) {
        if (signal.aborted || !patience.aborted) throw error;
        isPatient = false;
      }
    }
    const length = stream.ended ? stream.length : undefined;
    const to = Math.min(stream.received, end);
    if (to <= start) return { data: Buffer.alloc(0), length, release() {} };
    const tail = stream.tail(start);
    if (tail !== undefined) return { data: tail.subarray(0, to - start), length, release() {} };
    const request = stream.request(Math.floor(start / chunkBytes));
    const { chunk } = await chunks.get(request, signal);
    return partOf(chunk, { start, end: to }, request.range.start, length);
  } finally {
    follower.leave();
  }
}

/** Reads a piece of a file whose stream has ended. */
export async function storedPiece(
  version: FileVersion,
  { start, end }: ByteRange,
  chunks: Chunks,
  chunkBytes: number,
  signal: AbortSignal,
): Promise<Piece> {
  const { length } = version;
  if (start > length) throw new MillraceError('bad-chunk-name', 'beyond the end');
  if (start === length) return { data: Buffer.alloc(0), length, release() {} };
  const range = chunkRange(Math.floor(start / chunkBytes), chunkBytes, length);
  const { chunk } = await chunks.get({ version, range }, signal);
  return partOf(chunk, { start, end: Math.min(end, range.end) }, range.start, length);
}

function partOf(
  chunk: Chunk,
  { start, end }: ByteRange,
  at: number,
  length: number | undefined,
): Piece {
  const data = chunk.data.subarray(start - at, end - at);
  return { data, length, release: () => chunk.release() };
}
