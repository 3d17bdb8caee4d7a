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
import { type FileHandle, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { crc32 } from 'node:zlib';
import type { Log } from '@millrace/shared/base/log';
import { RECORD_BYTES, scanSums } from '@millrace/shared/cdn/depot/sums';
import { replaceFile, syncFolder } from '@millrace/shared/node/files/replace-file';
import { type Head, parseHead } from './heads/head.ts';
import { HeadReader } from './heads/head-reader.ts';

/** Allocations of former runs that are read at a time, where the disk has to be waited for. */
const RECOVERED_AT_ONCE = 32;
/** An allocation as a former run has left it. */
export interface Found {
  readonly head: Head;
  /** Bytes that are on the disk, and number of records of sums. */
  readonly offset: number;
  readonly sums: number;
}

/** Folders of former runs: the first part of their names, and the rests. */
export type Left = [first: string, rests: string[]][];

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
    return this.#folder(hex.slice(0, 2), hex.slice(2));
  }

  #folder(first: string, rest: string): string {
    return `${this.#dir}${sep}objects${sep}${first}${sep}${rest}`;
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

  /** Finds the folders of all allocations. */
  async list(): Promise<Left> {
    const objects = join(this.#dir, 'objects');
    const left: [string, string[]][] = [];
    for (const first of await readdir(objects)) {
      left.push([first, await readdir(join(objects, first))]);
    }
    return left;
  }

  /**
   * Reads all allocations that former runs have left, and discards uploads that nobody can continue.
   * Damaged ones stay where they are, and are not used. Others have the processor again and again.
   *
   * @param left what `list` has found; it is used up
   * @param signal ends the reading
   */
  async recoverAll(
    left: Left,
    onFound: (found: Found) => void,
    log: Log,
    signal: AbortSignal,
  ): Promise<void> {
    const heads = new HeadReader();
    const next = async () => {
      for (let names = left.at(-1); names && !signal.aborted; names = left.at(-1)) {
        const rest = names[1].pop();
        if (rest === undefined) {
          left.splice(left.indexOf(names), 1);
          continue;
        }
        const folder = this.#folder(names[0], rest);
        try {
          const found = await this.#recover(folder, heads);
          const { final, resumable } = found.head;
          if (final === undefined && !resumable) await this.discard(folder);
          else onFound(found);
        } catch (error) {
          log.error({ err: error, folder }, 'an allocation is damaged and is not used');
        }
        await heads.pause();
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
    if (head.final !== undefined) return { head, offset: head.final.length, sums: 0 };
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
      return { head, offset: end, sums: count };
    } finally {
      await data.close();
      await sums.close();
    }
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
