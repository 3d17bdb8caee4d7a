/** Deletes files and partial files of removed downloads for good. */

import { rm, stat } from 'node:fs/promises';
import { readList } from '@millrace/shared/schema/read';
import { Chores } from '../queue/chores.ts';
import type { Left } from '../queue/contract.ts';
import type { DownloadRecord } from '../store/record.ts';
import type { SettingStore } from '../store/small-stores.ts';
import { type Leftover, leftoverSchema } from '../store/trash-store.ts';

export interface Removed {
  /** The record before the removal. */
  readonly record: DownloadRecord;
  readonly leftover: Leftover | undefined;
  /** Resolves with the remains of the run, once it has ended. */
  readonly stopped: Promise<Left>;
}

export interface RemovalsOptions {
  readonly store: SettingStore;
  /** True if an unfinished download other than `by` writes to the path. */
  readonly isTaken: (path: string, by: string) => boolean;
  readonly removePartial: (path: string, onlyOf?: readonly string[]) => Promise<void>;
}

/** Name of the setting in which earlier versions recorded pending deletions. */
const SETTING = 'removals';

export class PendingRemovals {
  readonly #options: RemovalsOptions;
  readonly #chores = new Chores();

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

  /** Deletes the leftovers of removed downloads, and resolves when that is done. */
  async deleteNow(removed: readonly Removed[]): Promise<void> {
    await Promise.all(removed.map((one) => this.work(this.#deleteOne(one))));
  }

  /** Resolves when all work under way is done. */
  async close(): Promise<void> {
    await this.#chores.done();
  }

  /**
   * Deletes the leftover of a download whose run has ended, unless another download uses it.
   *
   * @param by gid of the download that it belonged to
   */
  async delete(leftover: Leftover, left: Left, by = ''): Promise<void> {
    await this.#delete(await whatIsLeft(leftover, left), by);
  }

  /** Tracks work in the background, so that `close` waits for it. */
  work(work: Promise<unknown>): Promise<void> {
    return this.#chores.add(work);
  }

  async #deleteOne({ leftover, stopped }: Removed): Promise<void> {
    const left = await stopped;
    if (leftover !== undefined) await this.delete(leftover, left);
  }

  async #delete(leftover: Leftover, by: string): Promise<void> {
    const { path, kind, onlyOf } = leftover;
    // The download was added again meanwhile and needs the file.
    if (this.#options.isTaken(path, by)) return;
    if (kind === 'partial') return this.#options.removePartial(path, onlyOf);
    if (isSame(leftover, await identityOf(path))) await rm(path, { force: true });
  }
}

/** Returns the leftover to delete, now that the run has ended. */
export async function whatIsLeft(leftover: Leftover, left: Left): Promise<Leftover> {
  const { path, complete } = left;
  if (complete !== undefined) {
    return { path: complete.path, kind: 'file', ...(await identityOf(complete.path)) };
  }
  const isGuess = leftover.onlyOf !== undefined && path !== undefined;
  return isGuess ? { path, kind: 'partial' } : leftover;
}

/** Identifies the file that is at the path now. */
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
