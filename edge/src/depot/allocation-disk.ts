/**
 * Allocations on disk. Each has a folder, named after its id:
 *
 *     objects/ab/REST/head   JSON, replaced by rename
 *                     data   the bytes
 *                     sums   a record for each segment of them, see sums.ts
 *                     eN     a folder with data and sums of an exNode that was replaced N times
 *
 * Folders of ended allocations are moved to `trash/` at once, and deleted from there.
 */

import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { crc32 } from 'node:zlib';
import { MAX_ETAG_CHARS } from '@millrace/shared/base/limits';
import type { Log } from '@millrace/shared/base/log';
import { MAX_PULL_MESSAGE_CHARS } from '@millrace/shared/cdn/depot/pull-record';
import { MAX_SEEN } from '@millrace/shared/cdn/depot/seen-versions';
import { RECORD_BYTES, scanSums } from '@millrace/shared/cdn/depot/sums';
import { replaceFile, syncFolder } from '@millrace/shared/node/files/replace-file';
import { readOrThrow } from '@millrace/shared/schema/read';
import * as z from 'zod';

const bytes = z.int().min(0).max(Number.MAX_SAFE_INTEGER);
const time = z.number().min(0).max(1e15);
const hex64 = z.string().regex(/^[0-9a-f]{64}$/);

/** Allocations of former runs that are read at a time, where the disk has to be waited for. */
const RECOVERED_AT_ONCE = 32;
/** Longest time of a read for which the disk is not waited for, ms. */
const QUICK_MS = 1;
/** Reads that are made several at a time once the disk has to be waited for. */
const SLOW_READS = 64;
/**
 * Slow reads in a short time that show such a disk, and quick reads that make up for one of them. Where
 * other programs want the processor too, single reads are slow although the disk is not.
 */
const SLOW_AT_LEAST = 3;
const QUICK_PER_SLOW = 16;

/** Version that a pull has seen at a URL. */
const SEEN_VERSION = z.object({
  of: hex64,
  validators: z.object({
    etag: z.string().max(MAX_ETAG_CHARS).optional(),
    weakEtag: z.string().max(MAX_ETAG_CHARS).optional(),
    lastModified: z.number().optional(),
    lastModifiedIsStrong: z.boolean().optional(),
  }),
  length: bytes.optional(),
  since: bytes,
  from: bytes,
});

/** Head of an allocation: everything about it but its bytes. */
const HEAD = z.object({
  format: z.literal(1),
  id: z.string().regex(/^[A-Za-z0-9_-]{16}$/),
  owner: z.string(),
  proofs: z.object({ read: hex64, write: hex64, manage: hex64 }),
  /** Unix milliseconds. */
  createdAt: time,
  expiresAt: time,
  /** Bytes reserved, and whether more are as they come. */
  bytes,
  grows: z.boolean(),
  /** True if its upload can be continued by another request. */
  resumable: z.boolean(),
  name: z.string().max(1000).optional(),
  type: z.string().max(200).optional(),
  /** Length and SHA-256 that were stated before all bytes came. */
  length: bytes.optional(),
  sha256: hex64.optional(),
  /** Set when the upload is complete. */
  final: z.object({ length: bytes, sha256: hex64, at: time }).optional(),
  /** Number of times that the exNode here has been replaced; absent: none. */
  edition: z.int().min(1).optional(),
  /** The pull that was begun last, until another one or an append begins. */
  pull: z
    .object({
      startedAt: time,
      seen: z.array(SEEN_VERSION).max(MAX_SEEN).readonly().optional(),
      failure: z
        .object({ code: z.string(), message: z.string().max(MAX_PULL_MESSAGE_CHARS), at: time })
        .optional(),
    })
    .optional(),
  /** True for the space of a guest; and SHA-256 of the claim of the one who uses it. */
  guest: z.literal(true).optional(),
  claim: hex64.optional(),
  /** True once bytes read from the disk were not those that had been written. */
  damaged: z.literal(true).optional(),
});
export type Head = z.output<typeof HEAD>;

/** Parses the text of a head. @throws if it is damaged */
export function parseHead(text: string): Head {
  return readOrThrow(HEAD, JSON.parse(text));
}

/** An allocation as a former run has left it. */
export interface Found {
  readonly head: Head;
  readonly folder: string;
  /** Bytes that are on the disk, and number of records of sums. */
  readonly offset: number;
  readonly sums: number;
}

export class AllocationDisk {
  readonly #dir: string;

  private constructor(dir: string) {
    this.#dir = dir;
  }

  /** Opens the folder of a depot, and makes it if need be. */
  static async open(dir: string): Promise<AllocationDisk> {
    await mkdir(join(dir, 'objects'), { recursive: true, mode: 0o700 });
    await mkdir(join(dir, 'trash'), { recursive: true, mode: 0o700 });
    await syncFolder(dir);
    return new AllocationDisk(dir);
  }

  /** Folder of an allocation. Its name does not depend on the case of letters. */
  folderOf(id: string): string {
    const hex = Buffer.from(id, 'base64url').toString('hex');
    return join(this.#dir, 'objects', hex.slice(0, 2), hex.slice(2));
  }

  /** Makes an allocation, empty and durable. @returns its folder */
  async create(head: Head): Promise<string> {
    const folder = this.folderOf(head.id);
    const made = await mkdir(dirname(folder), { recursive: true, mode: 0o700 });
    await mkdir(folder, { mode: 0o700 });
    for (const name of ['data', 'sums'])
      await (await open(join(folder, name), 'wx', 0o600)).close();
    await this.writeHead(folder, head);
    await syncFolder(dirname(folder));
    if (made !== undefined) await syncFolder(join(this.#dir, 'objects'));
    return folder;
  }

  /** Replaces the head of an allocation; resolves when the new one is durable. */
  async writeHead(folder: string, head: Head): Promise<void> {
    await replaceFile(join(folder, 'head'), JSON.stringify(head));
  }

  /** Takes an allocation away at once; its bytes are deleted later. */
  async discard(folder: string): Promise<void> {
    const trashed = join(this.#dir, 'trash', randomUUID());
    await rename(folder, trashed);
    // Otherwise a power loss could bring it back.
    await syncFolder(dirname(folder));
    await rm(trashed, { recursive: true, force: true });
  }

  /** Deletes what a former run had discarded. */
  async emptyTrash(): Promise<void> {
    const trash = join(this.#dir, 'trash');
    for (const name of await readdir(trash)) {
      await rm(join(trash, name), { recursive: true, force: true });
    }
  }

  /** Returns the folders of all allocations. */
  async folders(): Promise<string[]> {
    const objects = join(this.#dir, 'objects');
    const folders: string[] = [];
    for (const first of await readdir(objects)) {
      for (const rest of await readdir(join(objects, first)))
        folders.push(join(objects, first, rest));
    }
    return folders;
  }

  /**
   * Reads all allocations that former runs have left, and discards uploads that nobody can continue.
   * Damaged ones stay where they are, and are not used.
   */
  async recoverAll(onFound: (found: Found) => void, log: Log): Promise<void> {
    const folders = await this.folders();
    const heads = new HeadReader();
    const next = async () => {
      for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
        try {
          const found = await this.#recover(folder, heads);
          const { final, resumable } = found.head;
          if (final === undefined && !resumable) await this.discard(folder);
          else onFound(found);
        } catch (error) {
          log.error({ err: error, folder }, 'an allocation is damaged and is not used');
        }
      }
    };
    await Promise.all(Array.from({ length: RECOVERED_AT_ONCE }, next));
  }

  /**
   * Reads an allocation that a former run has left. Bytes of an incomplete upload that were not
   * acknowledged are cut off.
   *
   * @throws if its head is damaged, or acknowledged bytes are missing
   */
  async #recover(folder: string, heads: HeadReader): Promise<Found> {
    const text = heads.readQuickly(folder) ?? (await heads.read(folder));
    const head = parseHead(text);
    if (this.folderOf(head.id) !== folder)
      throw new Error('the head belongs to another allocation');
    // A head that was to replace one of these stays until the folder goes: looking takes too long.
    if (head.final !== undefined) return { head, folder, offset: head.final.length, sums: 0 };
    for (const name of await readdir(folder)) {
      if (name.startsWith('head.')) await rm(join(folder, name));
    }
    const [data, sums] = await openBoth(folder, 'r+');
    try {
      const { count, end } = scanSums(await sums.readFile(), crc32);
      const { size } = await data.stat();
      if (size < end) throw new Error(`${end - size} acknowledged bytes are missing`);
      await data.truncate(end);
      await sums.truncate(count * RECORD_BYTES);
      return { head, folder, offset: end, sums: count };
    } finally {
      await data.close();
      await sums.close();
    }
  }
}

/**
 * Reads heads: one after the other without waiting while the system has them in memory, which takes
 * a fraction of the processor time; several at a time while the disk has to be waited for.
 */
class HeadReader {
  #slowReads = 0;
  /** Slow reads of late, counted in the quick reads that make up for them. */
  #slowness = 0;

  /** Returns the text of a head; undefined while the disk is slow. @throws Error of the disk */
  readQuickly(folder: string): string | undefined {
    if (this.#slowReads > 0) return undefined;
    const begunAt = performance.now();
    const text = readFileSync(join(folder, 'head'), 'utf8');
    const isSlow = performance.now() - begunAt > QUICK_MS;
    this.#slowness = Math.max(0, this.#slowness + (isSlow ? QUICK_PER_SLOW : -1));
    if (this.#slowness > (SLOW_AT_LEAST - 1) * QUICK_PER_SLOW) {
      this.#slowReads = SLOW_READS;
      // The next slow read is enough.
      this.#slowness = (SLOW_AT_LEAST - 1) * QUICK_PER_SLOW;
    }
    return text;
  }

  /** Reads a head beside others. @throws Error of the disk */
  read(folder: string): Promise<string> {
    this.#slowReads--;
    return readFile(join(folder, 'head'), 'utf8');
  }
}

/** Opens the bytes of an allocation, and their sums. */
export async function openBoth(
  folder: string,
  flags: 'r' | 'r+',
): Promise<[data: FileHandle, sums: FileHandle]> {
  const data = await open(join(folder, 'data'), flags);
  try {
    return [data, await open(join(folder, 'sums'), flags)];
  } catch (error) {
    await data.close();
    throw error;
  }
}
