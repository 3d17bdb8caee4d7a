/**
 * Moves files to their places in a folder, each in one step and only once it is complete, and never
 * outside the folder, even if folders are swapped after a check (`pinned-folder.ts`).
 */

import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  futimesSync,
  lstatSync,
  openSync,
  utimesSync,
} from 'node:fs';
import { lstat, mkdir, rename, rmdir, unlink } from 'node:fs/promises';
import { MillraceError } from '@millrace/shared/base/errors';
import { isExecutable, type SyncFile } from '@millrace/shared/sync/manifest';
import { foldersAbove } from '@millrace/shared/sync/sync-path';
import { fileError } from '../files/file-error.ts';
import { within } from './pinned-folder.ts';

type Settled = Pick<SyncFile, 'path' | 'mode' | 'modified'>;

export class Placer {
  readonly #root: string;
  /** Folders that exist or are being made, by path. */
  readonly #folders = new Map<string, Promise<void>>();
  readonly #mask = process.umask();

  /** @param root real path of the folder */
  constructor(root: string) {
    this.#root = root;
  }

  /**
   * Gives a finished file its execution bit and time, and then moves it to its place.
   *
   * @param staged path of the file, on the same file system
   * @throws MillraceError `file-not-writable`, `disk-full`
   */
  async place(staged: string, file: Settled): Promise<void> {
    await this.#trying(file.path, async () => {
      for (const folder of foldersAbove(file.path)) await this.folder(folder);
      change(staged, file.path, {
        mode: () => (isExecutable(file) ? 0o777 : 0o666) & ~this.#mask,
        modified: file.modified,
      });
      await within(this.#root, file.path, (full) => rename(staged, full));
    });
  }

  /** Sets execution bit and time of a file whose content is right. @throws as `place` */
  async settle(file: Settled): Promise<void> {
    await this.#trying(file.path, () =>
      within(this.#root, file.path, async (full) =>
        change(full, file.path, {
          // Users who may read the file may run it.
          mode: (mode) => (isExecutable(file) ? mode | ((mode & 0o444) >> 2) : mode & ~0o111),
          modified: file.modified,
        }),
      ),
    );
  }

  /** Makes a folder whose parent exists. @throws as `place` */
  async folder(path: string): Promise<void> {
    let made = this.#folders.get(path);
    if (made === undefined) {
      const make = async (full: string) => {
        await mkdir(full).catch((error: NodeJS.ErrnoException) => {
          if (error.code !== 'EEXIST') throw error;
        });
        if (!(await lstat(full)).isDirectory())
          throw new MillraceError('file-not-writable', { code: 'not-folder', values: { path } });
      };
      made = this.#trying(path, () => within(this.#root, path, make));
      this.#folders.set(path, made);
    }
    await made;
  }

  /**
   * Removes a file, a link, or an empty folder.
   *
   * @returns false if the entry stays, because it is a folder that is not empty
   * @throws as `place`
   */
  async remove(path: string): Promise<boolean> {
    let gone = true;
    const take = async (full: string) => {
      const status = await lstat(full).catch(() => undefined);
      if (status === undefined) return;
      if (!status.isDirectory()) return unlink(full);
      await rmdir(full).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
        gone = false;
      });
    };
    await this.#trying(path, () => within(this.#root, path, take));
    return gone;
  }

  async #trying(path: string, act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (error) {
      throw fileError(error, path);
    }
  }
}

interface Change {
  /** Makes the new permission bits from the present ones. */
  readonly mode: (mode: number) => number;
  /** Unix milliseconds. */
  readonly modified: number;
}

/** Changes a file, but never the target of a link in its place. @param path for messages */
function change(full: string, path: string, { mode, modified }: Change): void {
  const { O_RDONLY, O_NONBLOCK } = constants;
  // Windows has no O_NOFOLLOW, and changes times by name only.
  const O_NOFOLLOW: number | undefined = constants.O_NOFOLLOW;
  if (O_NOFOLLOW === undefined) {
    if (!lstatSync(full).isFile()) throw noFile(path);
    return utimesSync(full, modified / 1000, modified / 1000);
  }
  // Another entry may have taken the place of the file: opening a pipe must not block.
  const file = openSync(full, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const status = fstatSync(file);
    if (!status.isFile()) throw noFile(path);
    const now = status.mode & 0o777;
    const wanted = mode(now);
    if (wanted !== now) fchmodSync(file, wanted);
    futimesSync(file, modified / 1000, modified / 1000);
  } finally {
    closeSync(file);
  }
}

function noFile(path: string): MillraceError {
  return new MillraceError('file-not-writable', { code: 'not-file', values: { path } });
}
