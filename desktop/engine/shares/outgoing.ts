/**
 * Files that may be sent. A page cannot name paths, so that nobody who has got hold of its session
 * can read the user's files: the app names the file that the user has chosen (it has the token), or
 * the page copies the file's bytes to the daemon.
 */

import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, rm } from 'node:fs/promises';
import { basename, isAbsolute, join, resolve, sep } from 'node:path';
import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import type { Outgoing as OutgoingView } from '@millrace/shared/bridge/rpc/share-api';
import { safeFileName } from '@millrace/shared/download/request/file-name';
import { openSource } from '../archive/open-source.ts';
import { makeRoom } from '../partial/disk-room.ts';

/** Most files that are offered at a time. */
const MAX_FILES = 64;
/** Time without a use after which an offered file is dropped when another one is offered. */
const IDLE_MS: Millis = 3_600_000;

interface Offered {
  readonly mtimeMs?: number | undefined;
  readonly path: string;
  readonly name: string;
  readonly bytes: number;
  /** True: a copy that the page sends. */
  readonly isCopy: boolean;
  /** End of the bytes of a copy that have come. */
  stored: number;
  busy: boolean;
  usedAt: Millis;
}

/** A file to send. */
export interface ChosenFile {
  /** When the user's file was changed last, Unix milliseconds. */
  readonly mtimeMs?: number | undefined;
  readonly path: string;
  readonly isCopy: boolean;
  readonly name: string;
  readonly bytes: number;
}

export class Outgoing {
  readonly #folder: string;
  /** The daemon's folder. */
  readonly state: string;
  readonly #now: () => Millis;
  readonly #files = new Map<string, Offered>();

  /** @param state the daemon's folder @param now monotonic milliseconds */
  constructor(state: string, now: () => Millis) {
    this.state = state;
    this.#folder = join(state, 'outgoing');
    this.#now = now;
  }

  /** Deletes copies of an earlier run, except those that are being sent. */
  async sweep(kept: ReadonlySet<string>): Promise<void> {
    for (const name of await readdir(this.#folder).catch((): string[] => [])) {
      const path = join(this.#folder, name);
      if (!kept.has(path)) await rm(path, { recursive: true, force: true });
    }
  }

  /** Offers a file or a folder of the user. @throws MillraceError `bad-option` if it cannot be read */
  async offer(path: string): Promise<OutgoingView> {
    const file = await chosenFile(path, this.state);
    await this.#makePlace();
    return this.#add({ ...file, stored: file.bytes });
  }

  /** Makes room for the copy of a file. @throws MillraceError `disk-full`, `bad-option` */
  async stage(given: string, bytes: number): Promise<OutgoingView> {
    const name = safeFileName(given);
    await this.#makePlace();
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const path = join(this.#folder, randomBytes(16).toString('hex'));
    const file = await open(path, 'wx', 0o600);
    try {
      await makeRoom(file, path, bytes);
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    } finally {
      await file.close();
    }
    return this.#add({ path, name, bytes, isCopy: true, stored: 0 });
  }

  /**
   * Takes a piece of a copy.
   *
   * @param at its offset, which must be where the copy ends so far
   * @returns where the copy ends now; undefined if it takes no such piece
   */
  async take(
    id: string,
    at: number,
    pieces: AsyncIterable<Buffer>,
  ): Promise<{ readonly end: number } | undefined> {
    const offered = this.#files.get(id);
    if (offered?.isCopy !== true || offered.busy || at !== offered.stored) return undefined;
    offered.busy = true;
    try {
      const file = await open(offered.path, 'r+');
      try {
        for await (const piece of pieces) {
          if (offered.stored + piece.length > offered.bytes) return undefined;
          for (let written = 0; written < piece.length; ) {
            const from = offered.stored;
            const { bytesWritten } = await file.write(piece, written, piece.length - written, from);
            written += bytesWritten;
            offered.stored += bytesWritten;
          }
        }
      } finally {
        await file.close();
      }
    } finally {
      offered.busy = false;
      offered.usedAt = this.#now();
    }
    return { end: offered.stored };
  }

  /** Takes a file out of the list, to send it. @throws MillraceError `bad-option` */
  claim(id: string): ChosenFile {
    const offered = this.#files.get(id);
    if (offered === undefined) throw new MillraceError('bad-option', { code: 'choose-again' });
    const { path, name, bytes, mtimeMs, isCopy, stored, busy } = offered;
    if (busy || stored !== bytes) {
      throw new MillraceError('bad-option', { code: 'not-copied' });
    }
    this.#files.delete(id);
    return { path, name, bytes, mtimeMs, isCopy };
  }

  /** Drops a file, and deletes its copy. */
  async drop(id: string): Promise<void> {
    const offered = this.#files.get(id);
    this.#files.delete(id);
    if (offered?.isCopy) await rm(offered.path, { force: true });
  }

  #add(file: Omit<Offered, 'busy' | 'usedAt'>): OutgoingView {
    const id = randomBytes(16).toString('hex');
    this.#files.set(id, { ...file, busy: false, usedAt: this.#now() });
    return { file: id, name: file.name, bytes: file.bytes };
  }

  async #makePlace(): Promise<void> {
    const over = this.#now() - IDLE_MS;
    for (const [id, { usedAt, busy }] of this.#files) {
      if (!busy && usedAt < over) await this.drop(id);
    }
    if (this.#files.size >= MAX_FILES) {
      throw new MillraceError('bad-option', { code: 'too-many-outgoing' });
    }
  }
}

/**
 * Looks at a file of the user, or at a folder, which is sent as a tar.
 *
 * @param state the daemon's folder, which nobody sends
 * @throws MillraceError `bad-option`
 */
export async function chosenFile(path: string, state: string): Promise<ChosenFile> {
  if (!isAbsolute(path)) throw new MillraceError('bad-option', { code: 'path-not-absolute' });
  const real = resolve(path);
  if (`${resolve(state)}${sep}`.startsWith(real.endsWith(sep) ? real : real + sep)) {
    throw new MillraceError('bad-option', { code: 'state-in-folder', values: { folder: state } });
  }
  const source = await openSource(real, new AbortController().signal);
  try {
    const name = source.file === undefined ? `${basename(real)}.tar` : basename(real);
    return { path: real, name: safeFileName(name), ...source.state, isCopy: false };
  } finally {
    await source.close();
  }
}
