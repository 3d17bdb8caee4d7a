/** Memory for the segments of a download's file, and a bound on the bytes being written. */

/** Longest segment: a unit of writing, hashing and journaling, bytes. */
export const SEGMENT_BYTES = 512 * 1024;
/** Bytes on their way to the disk at a time, over all connections of a download. */
const MAX_WRITING_BYTES = 4 * 1024 * 1024;

/** Memory and progress of writing, shared by the connections of one download. */
export class SegmentPool {
  readonly #free: Buffer[] = [];
  #writingBytes = 0;
  readonly #waiting: (() => void)[] = [];

  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(SEGMENT_BYTES);
  }

  giveBack(buffer: Buffer): void {
    this.#free.push(buffer);
  }

  /** Counts bytes that are being written, negative ones when they are done. */
  writing(bytes: number): void {
    this.#writingBytes += bytes;
    if (this.#writingBytes <= MAX_WRITING_BYTES) for (const go of this.#waiting.splice(0)) go();
  }

  /** Undefined while there is room for more, otherwise a promise to wait for. */
  room(): Promise<void> | undefined {
    if (this.#writingBytes <= MAX_WRITING_BYTES) return undefined;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}
