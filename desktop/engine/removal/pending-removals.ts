/** Deletes files and partial files of removed downloads, for good. */

import { rm, stat } from 'node:fs/promises';
import { readList } from '@millrace/shared/schema/read';
import type { Left } from '../queue/contract.ts';
import type { DownloadRecord } from '../store/record.ts';
import type { SettingStore } from '../store/small-stores.ts';
import { type Leftover, leftoverSchema } from '../store/trash-store.ts';

export interface Removed {
  /** As it was. */
  readonly record: DownloadRecord;
  readonly leftover: Leftover | undefined;
  /** The remains of its run, at its end. */
  readonly stopped: Promise<Left>;
}

export interface RemovalsOptions {
  readonly store: SettingStore;
  /** True if an unfinished download other than `by` writes to the path. */
  readonly isTaken: (path: string, by: string) => boolean;
  readonly removePartial: (path: string, onlyOf?: readonly string[]) => Promise<void>;
}

/** Setting in which earlier versions recorded pending deletions. */
const SETTING = 'removals';

export class PendingRemovals {
  readonly #options: RemovalsOptions;
  readonly #working = new Set<Promise<void>>();

  constructor(options: RemovalsOptions) {
    this.#options = options;
  }

  /** Carries out the pending deletions of an earlier version. */
  start(): void {
    const { store } = this.#options;
    const { items, refused } = readList(leftoverSchema, store.get(SETTING) ?? []);
    for (const leftover of items) void this.work(this.#delete(leftover, ''));
    if (refused > 0) store.isDamaged(SETTING, `${refused} files or more stay on disk`);
    else if (items.length > 0) store.set(SETTING, []);
  }

  /** Deletes at once. @returns when that is done */
  async deleteNow(removed: readonly Removed[]): Promise<void> {
    await Promise.all(removed.map((one) => this.work(this.#deleteOne(one))));
  }

  /** Resolves when all work under way is done. */
  async close(): Promise<void> {
    await Promise.all(this.#working);
  }

  /**
   * Deletes the condemned files of a download whose run has ended, unless another download uses
   * them.
   *
   * @param by the download that they belonged to
   */
  async delete(leftover: Leftover, left: Left, by = ''): Promise<void> {
    await this.#delete(await whatIsLeft(leftover, left), by);
  }

  /** Takes care of something in the background; closing waits for it. */
  work(work: Promise<unknown>): Promise<void> {
    const kept = work
      .then(() => {})
      .catch(() => {
        // A file that cannot be deleted is no reason to end the daemon.
      })
      .finally(() => this.#working.delete(kept));
    this.#working.add(kept);
    return kept;
  }

  async #deleteOne({ leftover, stopped }: Removed): Promise<void> {
    const left = await stopped;
    if (leftover !== undefined) await this.delete(leftover, left);
  }

  async #delete(leftover: Leftover, by: string): Promise<void> {
    const { path, kind, onlyOf } = leftover;
    // Added again meanwhile: its files are wanted.
    if (this.#options.isTaken(path, by)) return;
    if (kind === 'partial') return this.#options.removePartial(path, onlyOf);
    if (isSame(leftover, await identityOf(path))) await rm(path, { force: true });
  }
}

/** Lists the files to delete, now that the run has ended. */
export async function whatIsLeft(leftover: Leftover, left: Left): Promise<Leftover> {
  const { path, complete } = left;
  if (complete !== undefined) {
    return { path: complete.path, kind: 'file', ...(await identityOf(complete.path)) };
  }
  const isGuess = leftover.onlyOf !== undefined && path !== undefined;
  return isGuess ? { path, kind: 'partial' } : leftover;
}

/** Identifies the file that is there now. */
export async function identityOf(path: string): Promise<Pick<Leftover, 'ino' | 'mtimeMs'>> {
  try {
    const { ino, mtimeMs } = await stat(path);
    return { ino, mtimeMs };
  } catch {
    return {};
  }
}

export function isSame(a: Pick<Leftover, 'ino' | 'mtimeMs'>, b: Pick<Leftover, 'ino' | 'mtimeMs'>) {
  return a.ino !== undefined && a.ino === b.ino && a.mtimeMs === b.mtimeMs;
}
