/** A thread that searches an older file for parts of a wanted one. It gets one task, and ends. */

import { createHash } from 'node:crypto';
import { readSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import type { ByteRange } from '@millrace/shared/base/byte-range';
import type { PieceDigests } from '@millrace/shared/base/digest';
import { isMillraceError } from '@millrace/shared/base/errors';
import { BlockSearch, type FoundRun } from '@millrace/shared/reuse/block-search';
import { takenRuns } from '@millrace/shared/reuse/taken-runs';
import { parseZsync } from '@millrace/shared/reuse/zsync-file';

export interface SearchTask {
  /** Descriptor of the older file, open until the thread has ended. */
  readonly fd: number;
  /** Bytes of the older file. */
  readonly size: number;
  /** Bytes of the wanted file. */
  readonly length: number;
  /** The wanted file's list of blocks, or digests of its pieces. */
  readonly blocks: Uint8Array | PieceDigests;
}

export type SearchReply =
  | {
      readonly runs: readonly FoundRun[];
      /** SHA-1 of the whole wanted file, hexadecimal, if the list has it. */
      readonly sha1: string | undefined;
    }
  /** A list of blocks that cannot be used. */
  | { readonly bad: string | undefined }
  | { readonly error: string };

const READ_BYTES = 4 * 1024 * 1024;

/** Fills a buffer from a position on; what is beyond the end of the file is zeros. */
function fill(into: Buffer, { fd, size }: SearchTask, position: number): void {
  let got = 0;
  while (got < into.length && position + got < size) {
    const count = readSync(fd, into, got, into.length - got, position + got);
    if (count === 0) break;
    got += count;
  }
  into.fill(0, got);
}

function searchBlocks(task: SearchTask, list: Uint8Array): SearchReply {
  const file = parseZsync(list);
  if (file.length !== task.length) return { bad: 'it is about a file of another length' };
  const search = new BlockSearch(file);
  const buffer = Buffer.allocUnsafeSlow(READ_BYTES + search.windowBytes);
  for (let base = 0; base < task.size && !search.isOver; ) {
    fill(buffer, task, base);
    base += search.scan(buffer, base, 0, Math.min(READ_BYTES, task.size - base));
  }
  return { runs: takenRuns(search.runs(), file.length), sha1: file.digest.hex };
}

/** Finds pieces at the same position, or at that of another piece. */
function searchPieces(task: SearchTask, pieces: PieceDigests): SearchReply {
  const { pieceBytes, hexes, algorithm } = pieces;
  const rangeOf = (piece: number): ByteRange => ({
    start: piece * pieceBytes,
    end: Math.min(task.length, (piece + 1) * pieceBytes),
  });
  const from = new Map<string, number>();
  const wanted = new Set(hexes);
  const last = hexes.length - 1;
  const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
  for (let start = 0; start < task.size; start += pieceBytes) {
    const { start: lastStart, end } = rangeOf(last);
    const bytes = start === lastStart ? end - lastStart : pieceBytes;
    if (start + bytes > task.size) break;
    const hash = createHash(algorithm);
    for (let at = start; at < start + bytes; at += READ_BYTES) {
      const part = buffer.subarray(0, Math.min(READ_BYTES, start + bytes - at));
      fill(part, task, at);
      hash.update(part);
    }
    const hex = hash.digest('hex');
    if (wanted.has(hex) && !from.has(hex)) from.set(hex, start);
  }
  const runs = hexes.flatMap((hex, piece) => {
    const found = from.get(hex);
    const { start, end } = rangeOf(piece);
    return found === undefined ? [] : [{ start, from: found, bytes: end - start }];
  });
  return { runs, sha1: undefined };
}

function answer(task: SearchTask): SearchReply {
  const { blocks } = task;
  try {
    return blocks instanceof Uint8Array ? searchBlocks(task, blocks) : searchPieces(task, blocks);
  } catch (error) {
    return isMillraceError(error) ? { bad: error.detail } : { error: (error as Error).message };
  }
}

parentPort?.postMessage(answer(workerData as SearchTask));
