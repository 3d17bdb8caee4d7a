/**
 * The file of sums beside the bytes of an allocation. The bytes are a row of segments, which end at
 * multiples of 64 KiB and wherever a depot has acknowledged bytes. Each segment has a record of 16
 * bytes: its end (8, big-endian), the CRC-32 of its bytes (4), and the CRC-32 of these 12 bytes (4).
 * A depot writes a record only when the bytes of its segment are on the disk: the records up to the
 * first bad one say which bytes a crash has left.
 */

/** Largest segment, bytes; segments never cross a multiple of it. */
export const SEGMENT_BYTES = 64 * 1024;
export const RECORD_BYTES = 16;
const BODY_BYTES = RECORD_BYTES - 4;

/** CRC-32 (that of zlib) of bytes that follow others, whose CRC is given. */
export type Crc32 = (bytes: Uint8Array, before?: number) => number;

/** One record. */
export interface Sum {
  /** Offset of the first byte behind the segment. */
  readonly end: number;
  readonly crc: number;
}

/** Reads the record at an offset. @returns undefined if it is cut off or damaged */
export function readSum(records: Uint8Array, at: number, crc32: Crc32): Sum | undefined {
  if (at + RECORD_BYTES > records.length) return undefined;
  const view = new DataView(records.buffer, records.byteOffset + at, RECORD_BYTES);
  if (crc32(records.subarray(at, at + BODY_BYTES)) !== view.getUint32(BODY_BYTES)) return undefined;
  const end = view.getBigUint64(0);
  if (end > BigInt(Number.MAX_SAFE_INTEGER)) return undefined;
  return { end: Number(end), crc: view.getUint32(8) };
}

/**
 * Finds what a crash has left of an allocation.
 *
 * @param records contents of the file of sums
 * @returns number of good records before the first bad one, and the end of their bytes
 */
export function scanSums(records: Uint8Array, crc32: Crc32): { count: number; end: number } {
  let [count, end] = [0, 0];
  for (;;) {
    const sum = readSum(records, count * RECORD_BYTES, crc32);
    if (sum === undefined || !isSegment(end, sum.end)) return { count, end };
    count++;
    end = sum.end;
  }
}

/** Returns true if a segment from `start` may end at `end`. */
export function isSegment(start: number, end: number): boolean {
  return end > start && end <= start - (start % SEGMENT_BYTES) + SEGMENT_BYTES;
}

/** Makes the records of bytes as they come. */
export class SumsWriter {
  readonly #crc32: Crc32;
  /** Start of the segment that is being filled, and end of the bytes that have come. */
  #start: number;
  #end: number;
  #crc = 0;
  #records: Sum[] = [];

  /** @param end offset of the next byte, where a segment begins */
  constructor(crc32: Crc32, end: number) {
    this.#crc32 = crc32;
    this.#start = end;
    this.#end = end;
  }

  /** Adds the bytes that follow. */
  add(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) {
      const room = SEGMENT_BYTES - (this.#end % SEGMENT_BYTES);
      const part = bytes.subarray(at, at + room);
      this.#crc = this.#crc32(part, this.#crc);
      this.#end += part.length;
      at += part.length;
      if (part.length === room) this.#close();
    }
  }

  /** Ends the present segment, if it has bytes. @returns records made since the last call */
  cut(): Uint8Array {
    if (this.#end > this.#start) this.#close();
    const records = new Uint8Array(this.#records.length * RECORD_BYTES);
    const view = new DataView(records.buffer);
    for (const [i, { end, crc }] of this.#records.entries()) {
      const at = i * RECORD_BYTES;
      view.setBigUint64(at, BigInt(end));
      view.setUint32(at + 8, crc);
      view.setUint32(at + BODY_BYTES, this.#crc32(records.subarray(at, at + BODY_BYTES)));
    }
    this.#records = [];
    return records;
  }

  #close(): void {
    this.#records.push({ end: this.#end, crc: this.#crc });
    this.#start = this.#end;
    this.#crc = 0;
  }
}
