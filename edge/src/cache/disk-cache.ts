/**
 * The disk tier. A record is written aside and renamed into place, so that a kill at any moment
 * leaves either all of it or nothing; on reading, every bit is checked. Losing a record is never an
 * error: it is fetched again.
 */

import { randomUUID } from 'node:crypto';
import { type FileHandle, lstat, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '@millrace/shared/base/log';
import { OBJECT_BYTES } from '@millrace/shared/cdn/admission/memory-weight';
import { holdsSecret } from '@millrace/shared/http/urls/depot-link';
import { sha256 } from '../files/chunk.ts';
import type { ChunkBuffer } from '../files/chunk-memory.ts';
import { ownText } from '../files/file-version.ts';
import {
  decodeHead,
  encodeHead,
  isRecordFolder,
  MAX_HEAD_BYTES,
  pathOfRecord,
  recordName,
  recordOfFile,
} from './disk-record.ts';
import { KeepingLru } from './keeping-lru.ts';
import { INDEX_ENTRY_BYTES, writeBytes } from './weights.ts';

export interface DiskCacheOptions {
  readonly dir: string;
  readonly maxBytes: number;
  /** Bound on the memory for the index; records beyond it are evicted. Unlimited by default. */
  readonly maxIndexBytes?: number;
  readonly log: Log;
  /** True for records that are not to be evicted. @param path as `recordPath` gives it */
  readonly isPinned?: (path: string) => boolean;
}

/** Most bytes that wait to be written; further records are not stored, which bounds the memory. */
const MAX_QUEUED_BYTES = 64 * 1024 * 1024;
const CONCURRENT_WRITES = 4;
/** Size of a block: a file's size on disk is rounded up to blocks. */
const BLOCK_BYTES = 4096;
const COMPLAIN_EVERY_MS = 60_000;

interface QueuedWrite {
  readonly key: string;
  readonly meta: unknown;
  readonly data: Buffer;
  readonly digest: () => Promise<Buffer>;
  readonly done: () => void;
  /** Weight in memory. */
  readonly bytes: number;
}

/** A record as it was stored, checked in every bit. */
export interface StoredRecord {
  readonly meta: unknown;
  readonly buffer: ChunkBuffer;
  /** SHA-256 of the data. */
  readonly digest: Buffer;
}

export class DiskCache {
  readonly #options: DiskCacheOptions;
  /** Name of the record -> bytes, least recently used first. */
  readonly #index: KeepingLru<number>;
  readonly #queue: QueuedWrite[] = [];
  /** The newest write of each record that is not on disk yet: it is read from memory. */
  readonly #unwritten = new Map<string, QueuedWrite>();
  #queuedBytes = 0;
  #queuedDataBytes = 0;
  #writing = 0;
  #complainedAt = 0;
  #idle: (() => void)[] = [];
  /** Figures since the start. */
  readonly stats = { damaged: 0, skipped: 0, failed: 0 };

  private constructor(options: DiskCacheOptions) {
    this.#options = options;
    this.#index = new KeepingLru({
      maxSize: () => options.maxBytes,
      maxCount: Math.floor((options.maxIndexBytes ?? Number.POSITIVE_INFINITY) / INDEX_ENTRY_BYTES),
      sizeOf: (bytes) => Math.ceil(bytes / BLOCK_BYTES) * BLOCK_BYTES,
      isKept: (name) => options.isPinned?.(pathOfRecord(name)) ?? false,
      dispose: (_bytes, name, why) => {
        if (why === 'set') return;
        void rm(join(options.dir, pathOfRecord(name)), { force: true }).catch(() => {});
      },
    });
  }

  /**
   * Opens the folder, creating it if need be, and finds the records of earlier runs.
   *
   * @throws if the folder cannot be used
   */
  static async open(options: DiskCacheOptions): Promise<DiskCache> {
    const cache = new DiskCache(options);
    await rm(join(options.dir, 'tmp'), { recursive: true, force: true });
    await mkdir(join(options.dir, 'tmp'), { recursive: true });
    await cache.#scan();
    return cache;
  }

  /** Bytes on disk, as far as this cache knows. */
  get bytes(): number {
    return this.#index.size;
  }

  /** Bytes evicted since the start. */
  get evictedBytes(): number {
    return this.#index.evictedSize;
  }

  /** Records on disk. */
  get count(): number {
    return this.#index.count;
  }

  /** Memory that the index of records takes. */
  get indexBytes(): number {
    return this.#index.count * INDEX_ENTRY_BYTES;
  }

  /** Memory of the records that wait to be written, without their data. */
  get queuedOverheadBytes(): number {
    return this.#queuedBytes - this.#queuedDataBytes;
  }

  /** Makes records whose pins have ended evictable again. */
  release(): void {
    this.#index.release();
  }

  /** Returns true if there is a record, damaged or not. */
  has(key: string): boolean {
    return this.#unwritten.has(key) || this.#index.peek(recordName(key)) !== undefined;
  }

  /**
   * Reads a record; undefined if there is none or it is damaged (it is then deleted).
   *
   * @param bytes length that its data must have
   * @param allocate lends the memory for the data
   */
  async get(
    key: string,
    bytes: number,
    allocate: (bytes: number) => ChunkBuffer,
  ): Promise<StoredRecord | undefined> {
    const unwritten = this.#unwritten.get(key);
    if (unwritten?.data.length === bytes) return copied(unwritten, allocate(bytes));
    const name = recordName(key);
    if (this.#index.get(name) === undefined) return undefined;
    const path = pathOfRecord(name);
    const buffer = allocate(bytes);
    let record: StoredRecord | undefined;
    try {
      record = await readRecord(join(this.#options.dir, path), key, buffer);
    } catch (error) {
      buffer.release();
      this.#index.delete(name);
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') this.#complain(error, 'read');
      return undefined;
    }
    if (record !== undefined) return record;
    buffer.release();
    this.stats.damaged++;
    this.#index.delete(name);
    this.#options.log.warn({ path }, 'a cached record was damaged and has been dropped');
    return undefined;
  }

  /**
   * Queues a record to be stored.
   *
   * @param meta JSON; `key` is added to it
   * @param digest SHA-256 of the data
   * @param done called when the data are no longer needed
   * @param metaBytes weight of `meta` in memory
   */
  put(
    key: string,
    meta: object,
    data: Buffer,
    digest: () => Promise<Buffer>,
    done: () => void = () => {},
    metaBytes = OBJECT_BYTES,
  ): void {
    // Records name their URL: whoever reads the disk must not learn the link of a depot's file.
    if (holdsSecret(key)) return done();
    const bytes = data.length + writeBytes(key, metaBytes);
    if (this.#queuedBytes + bytes > MAX_QUEUED_BYTES) {
      this.stats.skipped++;
      return done();
    }
    this.#queuedBytes += bytes;
    this.#queuedDataBytes += data.length;
    const write = { key, meta: { ...meta, key }, data, digest, done, bytes };
    this.#unwritten.set(key, write);
    this.#queue.push(write);
    this.#writeNext();
  }

  /** Forgets a record. */
  delete(key: string): void {
    this.#unwritten.delete(key);
    this.#index.delete(recordName(key));
  }

  /** Resolves when everything put so far is on disk or given up. */
  async flush(): Promise<void> {
    if (this.#writing === 0 && this.#queue.length === 0) return;
    await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  #writeNext(): void {
    while (this.#writing < CONCURRENT_WRITES) {
      const write = this.#queue.shift();
      if (write === undefined) break;
      this.#writing++;
      void this.#write(write)
        .catch((error: unknown) => {
          this.stats.failed++;
          this.#complain(error, 'write');
        })
        .then(() => {
          this.#writing--;
          this.#queuedBytes -= write.bytes;
          this.#queuedDataBytes -= write.data.length;
          if (this.#isWanted(write)) this.#unwritten.delete(write.key);
          write.done();
          this.#writeNext();
        });
    }
    if (this.#writing === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** Returns false if the record has been forgotten, or put again. */
  #isWanted(write: QueuedWrite): boolean {
    return this.#unwritten.get(write.key) === write;
  }

  async #write(write: QueuedWrite): Promise<void> {
    if (!this.#isWanted(write)) return;
    const name = recordName(write.key);
    const path = pathOfRecord(name);
    const head = encodeHead(write.meta, write.data.length, await write.digest());
    if (head.length > MAX_HEAD_BYTES) return;
    const aside = join(this.#options.dir, 'tmp', randomUUID());
    try {
      const file = await open(aside, 'wx');
      try {
        await writeAll(file, [head, write.data]);
      } finally {
        await file.close();
      }
      await mkdir(join(this.#options.dir, path.slice(0, 2)), { recursive: true });
      if (!this.#isWanted(write)) return await rm(aside, { force: true });
      await rename(aside, join(this.#options.dir, path));
    } catch (error) {
      await rm(aside, { force: true }).catch(() => {});
      throw error;
    }
    this.#index.set(name, head.length + write.data.length);
  }

  async #scan(): Promise<void> {
    const found: { name: string; bytes: number; at: number }[] = [];
    for (const folder of await readdir(this.#options.dir)) {
      if (!isRecordFolder(folder)) continue;
      for (const file of await filesIn(join(this.#options.dir, folder))) {
        const name = recordOfFile(folder, file);
        if (name === undefined) continue;
        // `lstat`: the target of a link is not a file of this cache.
        const info = await lstat(join(this.#options.dir, folder, file)).catch(() => undefined);
        if (!info?.isFile()) continue;
        found.push({ name: ownText(name), bytes: info.size, at: info.mtimeMs });
      }
    }
    found.sort((a, b) => a.at - b.at);
    for (const { name, bytes } of found) this.#index.set(name, bytes);
  }

  /** Logs a failure, once a minute at most: a disk that fails does so often. */
  #complain(error: unknown, what: string): void {
    const now = Date.now();
    if (now - this.#complainedAt < COMPLAIN_EVERY_MS) return;
    this.#complainedAt = now;
    this.#options.log.error(
      { err: error, dir: this.#options.dir },
      `cannot ${what} the disk cache`,
    );
  }
}

/** Copies a record that is not on disk yet. */
async function copied(
  { meta, data, digest }: QueuedWrite,
  buffer: ChunkBuffer,
): Promise<StoredRecord> {
  data.copy(buffer.data);
  try {
    return { meta, buffer, digest: await digest() };
  } catch (error) {
    buffer.release();
    throw error;
  }
}

/** Lists a folder; a file of that name lists as empty. @throws if the folder cannot be read */
async function filesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return [];
    throw error;
  }
}

/** Reads a record; undefined if the file is not exactly as it was written, or is another record. */
async function readRecord(
  path: string,
  key: string,
  buffer: ChunkBuffer,
): Promise<StoredRecord | undefined> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const start = Buffer.allocUnsafe(Math.min(size, MAX_HEAD_BYTES));
    if (!(await readAt(file, start, 0))) return undefined;
    const head = decodeHead(start, size);
    if (head === undefined || head.dataBytes !== buffer.data.length) return undefined;
    if ((head.meta as { key?: unknown }).key !== key) return undefined;
    if (!(await readAt(file, buffer.data, head.dataStart))) return undefined;
    if (!(await sha256(buffer.data)).equals(head.digest)) return undefined;
    return { meta: head.meta, buffer, digest: head.digest };
  } finally {
    await file.close();
  }
}

/** Fills `into` from the position; false if the file ends before. */
async function readAt(file: FileHandle, into: Buffer, position: number): Promise<boolean> {
  let filled = 0;
  while (filled < into.length) {
    const { bytesRead } = await file.read(into, filled, into.length - filled, position + filled);
    if (bytesRead === 0) return false;
    filled += bytesRead;
  }
  return true;
}

/** Writes all buffers, by a single call if possible. */
async function writeAll(file: FileHandle, buffers: readonly Buffer[]): Promise<void> {
  const total = buffers.reduce((sum, b) => sum + b.length, 0);
  const { bytesWritten } = await file.writev(buffers as Buffer[]);
  if (bytesWritten < total) {
    await file.writeFile(Buffer.concat(buffers as Buffer[]).subarray(bytesWritten));
  }
}
