/**
 * Remembers the key of an encrypted upload, and which bytes have been encrypted under it: a digest
 * of each block's ciphertext. The digest of a block is on the disk before the block is given away.
 * So whatever happens to the file, the process or the machine meanwhile, a block is never sent in
 * two versions under one key, whose difference would tell both.
 */

import { createHash } from 'node:crypto';
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { newName, replaceFile } from '@millrace/shared/node/files/replace-file';
import { tryRead } from '@millrace/shared/schema/read';
import * as z from 'zod';
import type { FileState } from '../archive/upload-source.ts';
import { fileError } from '../files/file-error.ts';
import { lockFile } from '../files/file-lock.ts';
import { readAll, writeAll } from '../files/file-steps.ts';
import { newKey } from '../seal/file-keys.ts';

/** Bytes of the record in front of the digests: it ends in blanks. */
const RECORD_BYTES = 64 * 1024;
/** Bytes of a digest, which are zeros for a block that was never given away. */
export const DIGEST_BYTES = 32;
const NONE = Buffer.alloc(DIGEST_BYTES);

const RECORD = z.object({
  format: z.literal(1),
  path: z.string(),
  /** Length, and time of the last change: another one means another file. */
  bytes: z.number(),
  mtimeMs: z.number(),
  key: z.string().length(64),
});

export class KeyJournal {
  /** The key, 32 bytes. */
  readonly key: Uint8Array;
  readonly #path: string;
  readonly #file: FileHandle;
  readonly #digests: Buffer;
  readonly #unlock: () => Promise<void>;

  private constructor(
    path: string,
    file: FileHandle,
    key: Uint8Array,
    digests: Buffer,
    unlock: () => Promise<void>,
  ) {
    this.#path = path;
    this.#file = file;
    this.key = key;
    this.#digests = digests;
    this.#unlock = unlock;
  }

  /**
   * Opens the journal of a file, and begins a new one, with a new key, if there is none for this
   * state of the file. No other process can open it meanwhile.
   *
   * @param state folder for the state of programs
   * @param path the file, absolute
   * @param blocks number of its blocks
   * @throws MillraceError `file-in-use`; `disk-full`, `file-not-writable`
   */
  static async open(
    state: string,
    path: string,
    file: FileState,
    blocks: number,
  ): Promise<KeyJournal> {
    const name = createHash('sha256').update(`key\n${path}`).digest('hex').slice(0, 32);
    const own = join(state, 'uploads', `${name}.key`);
    try {
      await mkdir(dirname(own), { recursive: true, mode: 0o700 });
      const unlock = await lockFile(`${own}.lock`);
      try {
        const earlier = await openEarlier(own, path, file, blocks);
        if (earlier !== undefined) {
          return new KeyJournal(own, earlier.file, earlier.key, earlier.digests, unlock);
        }
        const key = newKey();
        const record = { format: 1, path, ...file, key: Buffer.from(key).toString('hex') };
        // For its user only: the key opens the file.
        await replaceFile(
          own,
          JSON.stringify(record)
            .padEnd(RECORD_BYTES - 1)
            .concat('\n'),
        );
        const digests = Buffer.alloc(DIGEST_BYTES * blocks);
        return new KeyJournal(own, await open(own, 'r+'), key, digests, unlock);
      } catch (error) {
        await unlock();
        throw error;
      }
    } catch (error) {
      throw fileError(error, own);
    }
  }

  /**
   * Says that blocks with these digests are given away under the key; resolves when that survives a
   * crash of the machine. To be called for one group of blocks after the other.
   *
   * @param first number of the first block
   * @param digests of the ciphertexts, one after the other
   * @returns false if one of the blocks had other bytes before: it must not be given away
   * @throws MillraceError of the disk: nothing must be given away any more
   */
  async commit(first: number, digests: Buffer): Promise<boolean> {
    const known = this.#digests.subarray(first * DIGEST_BYTES).subarray(0, digests.length);
    let isNew = false;
    for (let at = 0; at < digests.length; at += DIGEST_BYTES) {
      const before = known.subarray(at, at + DIGEST_BYTES);
      if (before.equals(digests.subarray(at, at + DIGEST_BYTES))) continue;
      if (!before.equals(NONE)) return false;
      isNew = true;
    }
    if (!isNew) return true;
    try {
      await writeAll(this.#file, digests, RECORD_BYTES + first * DIGEST_BYTES);
      await this.#file.datasync();
    } catch (error) {
      throw fileError(error, this.#path);
    }
    digests.copy(known);
    return true;
  }

  /** The digests of all blocks, zeros for those that were never given away. */
  get digests(): Buffer {
    return this.#digests;
  }

  /** Forgets the key for good. */
  async remove(): Promise<void> {
    for (const path of [this.#path, newName(this.#path)]) await rm(path, { force: true });
  }

  async close(): Promise<void> {
    await this.#file.close();
    await this.#unlock();
  }
}

async function openEarlier(own: string, path: string, state: FileState, blocks: number) {
  const file = await open(own, 'r+').catch(() => undefined);
  if (file === undefined) return undefined;
  const record = Buffer.alloc(RECORD_BYTES);
  const isWhole = await readAll(file, record, 0);
  const read = isWhole ? tryRead(RECORD, parseJson(record.toString())) : undefined;
  if (!read?.success || read.data.path !== path) return closed(file);
  const { bytes, mtimeMs, key } = read.data;
  if (bytes !== state.bytes || mtimeMs !== state.mtimeMs) return closed(file);
  const digests = Buffer.alloc(DIGEST_BYTES * blocks);
  // Blocks behind the end of the journal have not been given away.
  for (let at = 0; at < digests.length; ) {
    const { bytesRead } = await file.read(digests, at, digests.length - at, RECORD_BYTES + at);
    if (bytesRead === 0) break;
    at += bytesRead;
  }
  return { file, key: Buffer.from(key, 'hex'), digests };
}

async function closed(file: FileHandle): Promise<undefined> {
  await file.close();
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
