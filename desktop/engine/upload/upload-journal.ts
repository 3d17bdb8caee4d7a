/**
 * Remembers an upload that is not complete: which file, which depot, and the capabilities. They are
 * written down before the first byte is sent, so that a process that is killed can be continued.
 */

import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ByteRange } from '@millrace/shared/base/byte-range';
import { newName, replaceFile } from '@millrace/shared/node/files/replace-file';
import { tryRead } from '@millrace/shared/schema/read';
import * as z from 'zod';
import type { FileState } from '../archive/upload-source.ts';
import { lockFile, removeLeftLock } from '../files/file-lock.ts';
import type { Allocated } from './depot-client.ts';

const RECORD = z.object({
  format: z.literal(1),
  path: z.string(),
  /** Length, and time of the last change: another one means another file. */
  bytes: z.number(),
  mtimeMs: z.number(),
  /** Names the key that the bytes are encrypted with, or the version at a URL. */
  keyId: z.string().optional(),
  /** Claim of a guest, whose space another user has reserved. */
  claim: z.string().optional(),
  allocated: z.object({
    read: z.string(),
    write: z.string(),
    manage: z.string(),
    expires: z.string(),
  }),
});

/** An upload that an earlier process has begun. */
interface EarlierUpload {
  readonly allocated: Allocated;
  readonly claim: string | undefined;
  /** True if the file has not changed since. */
  readonly isSame: boolean;
}

export class UploadJournal {
  readonly #file: string;
  readonly #path: string;
  readonly #keyId: string | undefined;

  /**
   * @param state folder for the state of programs
   * @param path the file, absolute, or the URL at which it stands
   * @param edge base URL of the depot
   * @param part of the file, or the name of what is made of it; undefined: all of it
   * @param keyId names the key that it is encrypted with, or the version at a URL; undefined: neither
   */
  constructor(
    state: string,
    path: string,
    edge: string,
    part?: ByteRange | string,
    keyId?: string,
  ) {
    const named = typeof part === 'object' ? `${part.start}-${part.end}` : part;
    const range = named === undefined ? '' : `\n${named}`;
    const of = keyId === undefined ? range : `${range}\nencrypted`;
    const name = createHash('sha256').update(`${edge}\n${path}${of}`).digest('hex').slice(0, 32);
    this.#file = join(state, 'uploads', `${name}.json`);
    this.#path = path;
    this.#keyId = keyId;
  }

  /** Keeps other processes from uploading the file there. @throws MillraceError `file-in-use` */
  async lock(): Promise<() => Promise<void>> {
    await mkdir(dirname(this.#file), { recursive: true, mode: 0o700 });
    return lockFile(`${this.#file}.lock`);
  }

  /** Removes the lock of a process that was killed. */
  async removeLeftLock(): Promise<void> {
    await removeLeftLock(`${this.#file}.lock`);
  }

  /**
   * Returns the upload of the file that an earlier process has begun.
   *
   * @returns also whether the file is still in this state, and encrypted with the same key
   */
  async read({ bytes, mtimeMs }: FileState): Promise<EarlierUpload | undefined> {
    const text = await readFile(this.#file, 'utf8').catch(() => '');
    const result = tryRead(RECORD, parseJson(text));
    if (!result.success) return undefined;
    const { path, allocated, ...known } = result.data;
    if (path !== this.#path) return undefined;
    const isSame = known.bytes === bytes && known.mtimeMs === mtimeMs;
    const { claim } = known;
    return { allocated, claim, isSame: isSame && known.keyId === this.#keyId };
  }

  /** Writes the upload down; resolves when that survives a crash of the machine. */
  async write({ bytes, mtimeMs }: FileState, allocated: Allocated, claim?: string): Promise<void> {
    const [path, keyId] = [this.#path, this.#keyId];
    const record = { format: 1, path, bytes, mtimeMs, keyId, claim, allocated };
    // For its user only: the record gives all rights to the file in the depot.
    await replaceFile(this.#file, JSON.stringify(record));
  }

  /** Forgets the upload, and what a process left that was killed while it wrote. */
  async remove(): Promise<void> {
    for (const path of [this.#file, newName(this.#file)]) await rm(path, { force: true });
  }
}

/** Lists the allocations of all uploads that are remembered. @param state as of the journals */
export async function rememberedUploads(state: string): Promise<Allocated[]> {
  const folder = join(state, 'uploads');
  const names = await readdir(folder).catch((): string[] => []);
  const texts = await Promise.all(
    names
      .filter((name) => name.endsWith('.json'))
      .map((name) => readFile(join(folder, name), 'utf8').catch(() => '')),
  );
  return texts.flatMap((text) => tryRead(RECORD, parseJson(text)).data?.allocated ?? []);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
