/** Reads bytes of an allocation, and compares them with their sums before anybody gets them. */

import type { FileHandle } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import type { ByteRange } from '@millrace/shared/base/byte-range';
import { MillraceError } from '@millrace/shared/base/errors';
import {
  isSegment,
  RECORD_BYTES,
  readSum,
  SEGMENT_BYTES,
  type Sum,
} from '@millrace/shared/cdn/depot/sums';
import type { Allocation } from './allocation.ts';
import { openBoth } from './allocation-disk.ts';

/** Bytes that are read at a time, besides the rest of a segment. */
const READ_BYTES = 256 * 1024;
/** Memory that a read takes at most, besides what its connection has not taken yet. */
export const READ_MEMORY_BYTES = READ_BYTES + SEGMENT_BYTES;
/** Records that are read at a time. */
const RECORDS = 256;

/**
 * Reads a range.
 *
 * @param range inside the bytes that are on the disk
 * @throws MillraceError `allocation-damaged`; errors of the disk
 */
export async function* readVerified(
  folder: string,
  range: ByteRange,
): AsyncGenerator<Buffer, void, undefined> {
  if (range.start >= range.end) return;
  const [data, sums] = await openBoth(folder, 'r');
  try {
    const records = new Records(sums);
    let segments: Sum[] = [];
    let start = await records.seek(range.start);
    for (let end = start; end < range.end; ) {
      const sum = await records.next(end);
      segments.push(sum);
      end = sum.end;
      if (end - start < READ_BYTES && end < range.end) continue;
      const bytes = await readSegments(data, start, segments);
      yield bytes.subarray(Math.max(0, range.start - start), Math.min(range.end, end) - start);
      start = end;
      segments = [];
    }
  } finally {
    await data.close();
    await sums.close();
  }
}

/**
 * Reads the bytes that are not in the digest of an upload yet: those of a former run.
 *
 * @throws MillraceError `allocation-damaged`; errors of the disk; the signal's reason
 */
export async function hashRest(allocation: Allocation, signal: AbortSignal): Promise<void> {
  let at = allocation.hashedEnd;
  const rest = { start: at, end: allocation.offset };
  for await (const bytes of readVerified(allocation.folder, rest)) {
    signal.throwIfAborted();
    allocation.addToHash(bytes, at);
    at += bytes.length;
  }
}

/** Reads segments that follow each other. @param start of the first one */
async function readSegments(
  data: FileHandle,
  start: number,
  segments: readonly Sum[],
): Promise<Buffer> {
  const length = (segments.at(-1)?.end ?? start) - start;
  const bytes = Buffer.allocUnsafe(length);
  for (let done = 0; done < length; ) {
    const { bytesRead } = await data.read(bytes, done, length - done, start + done);
    if (bytesRead === 0) throw damaged('bytes are missing');
    done += bytesRead;
  }
  let at = 0;
  for (const { end, crc } of segments) {
    if (crc32(bytes.subarray(at, end - start)) !== crc) throw damaged('the sum of bytes is wrong');
    at = end - start;
  }
  return bytes;
}

/** The file of sums, read in order from any byte on. */
class Records {
  readonly #file: FileHandle;
  #buffer: Buffer = Buffer.alloc(0);
  #at = 0;
  /** Number of the record behind the buffer. */
  #behind = 0;

  constructor(file: FileHandle) {
    this.#file = file;
  }

  /** Finds the segment with a byte. @returns its start; `next` then gives its record */
  async seek(offset: number): Promise<number> {
    const { size } = await this.#file.stat();
    // The first record that ends behind the byte; ends grow from record to record.
    let [low, high] = [0, Math.floor(size / RECORD_BYTES)];
    let start = 0;
    while (low < high) {
      const middle = (low + high) >> 1;
      const { end } = await this.#read(middle);
      if (end > offset) {
        high = middle;
      } else {
        low = middle + 1;
        start = end;
      }
    }
    this.#buffer = Buffer.alloc(0);
    this.#at = 0;
    this.#behind = low;
    return start;
  }

  /** Returns the next record. @param start of its segment */
  async next(start: number): Promise<Sum> {
    if (this.#at >= this.#buffer.length) {
      const buffer = Buffer.alloc(RECORDS * RECORD_BYTES);
      const { bytesRead } = await this.#file.read(
        buffer,
        0,
        buffer.length,
        this.#behind * RECORD_BYTES,
      );
      this.#buffer = buffer.subarray(0, bytesRead - (bytesRead % RECORD_BYTES));
      this.#behind += this.#buffer.length / RECORD_BYTES;
      this.#at = 0;
    }
    const sum = readSum(this.#buffer, this.#at, crc32);
    this.#at += RECORD_BYTES;
    if (sum === undefined || !isSegment(start, sum.end))
      throw damaged('the file of sums is damaged');
    return sum;
  }

  async #read(index: number): Promise<Sum> {
    const buffer = Buffer.alloc(RECORD_BYTES);
    await this.#file.read(buffer, 0, RECORD_BYTES, index * RECORD_BYTES);
    const sum = readSum(buffer, 0, crc32);
    if (sum === undefined) throw damaged('the file of sums is damaged');
    return sum;
  }
}

function damaged(detail: string): MillraceError {
  return new MillraceError('allocation-damaged', detail);
}
