/**
 * Appends bytes to an allocation. A byte is acknowledged only when it is on the disk together with
 * its sum: data, fdatasync, sums, fdatasync, then the acknowledgement. While the disk makes bytes
 * durable, the next ones are received.
 */

import type { FileHandle } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import type { Millis } from '@millrace/shared/base/clock';
import { RECORD_BYTES, SumsWriter } from '@millrace/shared/cdn/depot/sums';
import { freeBytes } from '@millrace/shared/node/memory/free-bytes';
import type { Allocation } from './allocation.ts';
import { openBoth } from './allocation-disk.ts';

/** Memory of bytes that are collected before they are written. */
const BATCH_BYTES = 512 * 1024;
/** Memory that a piece takes besides its bytes: a client may send each byte by itself. */
const PIECE_BYTES = 256;
/**
 * Memory that an append takes at most: the batch that is written, the one that comes meanwhile, and
 * what the connection has read ahead.
 */
export const APPEND_BYTES = 2 * BATCH_BYTES + 3 * 64 * 1024;
/** Bytes, and time, after which received bytes are made durable and acknowledged. */
const ACKNOWLEDGE_BYTES = 64 * 1024 * 1024;
const ACKNOWLEDGE_MS: Millis = 1000;

/** Least pace of bytes that are appended, bytes per second, and the longest pause of a fast sender. */
export const LEAST_PACE = 16 * 1024;
export const PACE_PAUSE_MS: Millis = 30_000;

export interface AppendOptions {
  /**
   * Gives the next bytes, which belong to the append from then on: it frees their memory. Undefined
   * at the end. Rejects if they end before their time.
   */
  readonly next: () => Promise<Buffer | undefined>;
  /** Called with the end of the bytes before they are taken. @throws if there is no room for them */
  readonly makeRoom: (end: number) => void;
  readonly onAcknowledged: (offset: number) => void;
  /**
   * For bytes that count all together or not at all: called when all have come.
   *
   * @throws if they are not to count
   */
  readonly check?: (() => void) | undefined;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
}

/**
 * Appends bytes until they end.
 *
 * @throws errors of `next`, `makeRoom`, `check` and of the disk. Bytes that came before the error
 *   are kept, unless there is a `check`
 */
export async function append(allocation: Allocation, options: AppendOptions): Promise<void> {
  const [data, sums] = await openBoth(allocation.folder, 'r+');
  try {
    // Records of an append that failed before it was acknowledged could seem to follow new ones.
    await sums.truncate(allocation.sums * RECORD_BYTES);
    await new Append(allocation, options, data, sums).run();
  } finally {
    allocation.mendHash();
    await data.close();
    await sums.close();
  }
}

class Append {
  readonly #allocation: Allocation;
  readonly #options: AppendOptions;
  readonly #data: FileHandle;
  readonly #sums: FileHandle;
  readonly #writer: SumsWriter;
  /** End of the bytes that are written, and of those that are being made durable. */
  #end: number;
  #begunEnd: number;
  #begunAt: Millis;
  #batch: Buffer[] = [];
  #batchBytes = 0;
  /** Memory that the batch takes. */
  #batchWeight = 0;
  /** The batch behind `#end` that is being written. */
  #writing:
    | { readonly batch: readonly Buffer[]; readonly bytes: number; done: Promise<void> }
    | undefined;
  /** Bytes up to `#end` that are not in the sums and the digest. */
  #unsummed: readonly Buffer[] = [];
  /** Acknowledgement under way. */
  #sync: Promise<void> | undefined;
  #failure: unknown;

  constructor(allocation: Allocation, options: AppendOptions, data: FileHandle, sums: FileHandle) {
    this.#allocation = allocation;
    this.#options = options;
    this.#data = data;
    this.#sums = sums;
    this.#writer = new SumsWriter(crc32, allocation.offset);
    this.#end = allocation.offset;
    this.#begunEnd = allocation.offset;
    this.#begunAt = options.now();
  }

  async run(): Promise<void> {
    const { check } = this.#options;
    try {
      await this.#receive();
      check?.();
    } catch (error) {
      // Bytes that only count together are not kept.
      if (check === undefined) await this.#keep().catch(() => {});
      await this.#writing?.done.catch(() => {});
      await this.#sync;
      throw error;
    }
    await this.#keep();
  }

  async #receive(): Promise<void> {
    const { next, makeRoom, now, check } = this.#options;
    for (;;) {
      const bytes = await next();
      if (bytes === undefined) return;
      makeRoom(this.#come + bytes.length);
      this.#batch.push(bytes);
      this.#batchBytes += bytes.length;
      this.#batchWeight += bytes.length + PIECE_BYTES;
      if (this.#batchWeight >= BATCH_BYTES) await this.#write();
      if (this.#failure !== undefined) throw this.#failure;
      if (check !== undefined || this.#sync !== undefined) continue;
      const waiting = this.#come - this.#begunEnd;
      const late = now() - this.#begunAt >= ACKNOWLEDGE_MS;
      if (waiting < ACKNOWLEDGE_BYTES && !(late && waiting > 0)) continue;
      await this.#write();
      await this.#written();
      this.#begin();
    }
  }

  /** End of all bytes that have come. */
  get #come(): number {
    return this.#end + (this.#writing?.bytes ?? 0) + this.#batchBytes;
  }

  /** Makes all bytes durable that have come, and acknowledges them. */
  async #keep(): Promise<void> {
    await this.#write();
    await this.#written();
    await this.#sync;
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#end === this.#allocation.offset) return;
    await this.#acknowledge(this.#cut(), this.#end);
  }

  /**
   * Begins to write what has come, once the batch before is written. Meanwhile that one gets its sums,
   * and more bytes come.
   */
  async #write(): Promise<void> {
    await this.#written();
    const [batch, bytes] = [this.#batch, this.#batchBytes];
    if (bytes === 0) return;
    this.#batch = [];
    this.#batchBytes = 0;
    this.#batchWeight = 0;
    const done = writeParts(this.#data, batch, this.#end);
    // The error goes to `#written`, which may not wait yet.
    done.catch(() => {});
    this.#writing = { batch, bytes, done };
    this.#sum();
  }

  /** Waits until nothing is being written. @throws errors of the disk */
  async #written(): Promise<void> {
    if (this.#writing === undefined) return;
    const { batch, bytes, done } = this.#writing;
    await done;
    this.#writing = undefined;
    this.#sum();
    this.#unsummed = batch;
    this.#end += bytes;
  }

  /** Adds written bytes to the sums and the digest. */
  #sum(): void {
    let end = this.#end - bytesOf(this.#unsummed);
    for (const part of this.#unsummed) {
      this.#writer.add(part);
      this.#allocation.addToHash(part, end);
      end += part.length;
      freeBytes(part);
    }
    this.#unsummed = [];
  }

  /** Returns the records of sums of all written bytes that have none yet. */
  #cut(): Uint8Array {
    this.#sum();
    return this.#writer.cut();
  }

  /** Begins to make the written bytes durable. */
  #begin(): void {
    this.#begunEnd = this.#end;
    this.#begunAt = this.#options.now();
    this.#sync = this.#acknowledge(this.#cut(), this.#end)
      .catch((error: unknown) => {
        this.#failure ??= error;
      })
      .finally(() => {
        this.#sync = undefined;
      });
  }

  async #acknowledge(records: Uint8Array, end: number): Promise<void> {
    const allocation = this.#allocation;
    await this.#data.datasync();
    await writeAll(this.#sums, records, allocation.sums * RECORD_BYTES);
    await this.#sums.datasync();
    allocation.sums += records.length / RECORD_BYTES;
    allocation.offset = end;
    this.#options.onAcknowledged(end);
  }
}

const bytesOf = (parts: readonly Buffer[]) => parts.reduce((sum, { length }) => sum + length, 0);

/** Writes parts one behind the other: in one call, if the system takes all of them. */
async function writeParts(file: FileHandle, parts: readonly Buffer[], at: number): Promise<void> {
  const { bytesWritten } = await file.writev(parts, at);
  if (bytesWritten === bytesOf(parts)) return;
  await writeAll(file, Buffer.concat(parts).subarray(bytesWritten), at + bytesWritten);
}

/** Writes all bytes at a place of a file: the system may take only some at a time. */
async function writeAll(file: FileHandle, bytes: Uint8Array, at: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, at + done);
    done += bytesWritten;
  }
}
