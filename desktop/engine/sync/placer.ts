/**
 * Puts files in their places in a folder, each at once and only when it is right, and never outside:
 * each folder above is looked at before something is put into it. (Against another program that puts
 * links there at the same moment nothing can be done with what Node offers.)
 */

import { chmod, lstat, mkdir, rename, rmdir, unlink, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';
import { isExecutable, type SyncFile } from '@millrace/shared/sync/manifest';
import { foldersAbove } from '@millrace/shared/sync/sync-path';
import { fileError } from '../file-error.ts';

type Settled = Pick<SyncFile, 'path' | 'mode' | 'modified'>;

export class Placer {
  readonly #root: string;
  /** Folders that are being made or are there, by path. */
  readonly #folders = new Map<string, Promise<void>>();
  readonly #mask = process.umask();

  /** @param root real path of the folder */
  constructor(root: string) {
    this.#root = root;
  }

  /**
   * Gives a finished file its execution bit and time, and then its name.
   *
   * @param staged path of the file, on the same file system
   * @throws MillraceError `file-not-writable`, `disk-full`
   */
  async place(staged: string, file: Settled): Promise<void> {
    await this.#trying(file.path, async () => {
      for (const folder of foldersAbove(file.path)) await this.folder(folder);
      await chmod(staged, (isExecutable(file) ? 0o777 : 0o666) & ~this.#mask);
      await setTime(staged, file.modified);
      await rename(staged, join(this.#root, file.path));
    });
  }

  /** The execution bit and time of a file that is right otherwise. @throws as `place` */
  async settle(file: Settled): Promise<void> {
    const path = join(this.#root, file.path);
    await this.#trying(file.path, async () => {
      await this.#within(file.path);
      const status = await lstat(path);
      if (!status.isFile())
        throw new MillraceError('file-not-writable', `${path} is no file any more`);
      const mode = status.mode & 0o777;
      // Whoever may read it may run it.
      const wanted = isExecutable(file) ? mode | ((mode & 0o444) >> 2) : mode & ~0o111;
      if (wanted !== mode) await chmod(path, wanted);
      await setTime(path, file.modified);
    });
  }

  /** Makes a folder; the one that it is in is there. @throws as `place` */
  async folder(path: string): Promise<void> {
    let made = this.#folders.get(path);
    if (made === undefined) {
      made = this.#trying(path, async () => {
        const full = join(this.#root, path);
        await mkdir(full).catch((error: NodeJS.ErrnoException) => {
          if (error.code !== 'EEXIST') throw error;
        });
        if (!(await lstat(full)).isDirectory())
          throw new MillraceError('file-not-writable', `${full} is no folder`);
      });
      this.#folders.set(path, made);
    }
    await made;
  }

  /**
   * Takes away a file, a link, or a folder with nothing in it.
   *
   * @returns false if it is still there: a folder with something in it
   * @throws as `place`
   */
  async remove(path: string): Promise<boolean> {
    const full = join(this.#root, path);
    let gone = true;
    await this.#trying(path, async () => {
      await this.#within(path);
      const status = await lstat(full).catch(() => undefined);
      if (status === undefined) return;
      if (!status.isDirectory()) return unlink(full);
      await rmdir(full).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
        gone = false;
      });
    });
    return gone;
  }

  /** No folder above the path is a link. @throws MillraceError */
  async #within(path: string): Promise<void> {
    for (const folder of foldersAbove(path)) {
      const status = await lstat(join(this.#root, folder));
      if (!status.isDirectory())
        throw new MillraceError('file-not-writable', `${folder} is no folder`);
    }
  }

  async #trying(path: string, act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (error) {
      throw fileError(error, path);
    }
  }
}

async function setTime(path: string, modified: number): Promise<void> {
  await utimes(path, modified / 1000, modified / 1000);
}
