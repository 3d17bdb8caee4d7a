/**
 * The trash keeps removed downloads in the database for days. It keeps their data in a folder
 * beside its old place, so that the name is free again. Work on one download is done in sequence.
 */

import { existsSync } from 'node:fs';
import { lstat, mkdir, rename, rm, rmdir } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { beyondKeeping, type TrashLimits } from '@millrace/shared/download/queue/trash';
import { freePath } from '../files/file-choice.ts';
import { DATA_SUFFIX } from '../files/partial-names.ts';
import type { DownloadFactory, Left, RunResult } from '../queue/contract.ts';
import { completedBy } from '../queue/records.ts';
import type { DownloadRecord } from '../store/record.ts';
import type { Leftover, TrashData, TrashRow, TrashStore } from '../store/trash-store.ts';
import {
  identityOf,
  isSame,
  type PendingRemovals,
  type Removed,
  whatIsLeft,
} from './pending-removals.ts';

export interface TrashOptions {
  readonly store: TrashStore;
  readonly removals: PendingRemovals;
  readonly createDownload: Pick<DownloadFactory, 'movePartial'>;
  /** True if an unfinished download other than `by` writes to the path. */
  readonly isTaken: (path: string, by: string) => boolean;
  readonly limits: () => TrashLimits;
  /** Called when the trash has changed. */
  readonly onChange: () => void;
  /** Unix milliseconds. */
  readonly now: () => Millis;
}

/** Folder beside the data of removed downloads, with a subfolder for each download. */
export const TRASH_FOLDER = '.millrace-trash';
/** Milliseconds between searches for expired entries. */
const SWEEP_MS = 3600_000;

export class Trash {
  readonly #options: TrashOptions;
  /** The last task for each download. */
  readonly #work = new Map<string, Promise<unknown>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: TrashOptions) {
    this.#options = options;
  }

  get store(): TrashStore {
    return this.#options.store;
  }

  /** Continues the work that the last process left. */
  start(): void {
    for (const gid of this.store.unmoved()) this.#then(gid, () => this.#moveAway(gid));
    this.sweep();
    this.#timer = setInterval(() => this.sweep(), SWEEP_MS).unref();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#work.values());
  }

  /**
   * Puts removed downloads into the trash. Their data follows when their runs have ended.
   *
   * @throws MillraceError `disk-full`, `state-unusable`
   */
  put(removed: readonly Removed[], batch: string): void {
    const removedAt = this.#options.now();
    for (const { record, leftover, stopped } of removed) {
      const { gid } = record;
      const bytes = leftover === undefined ? 0 : record.storedBytes;
      // If the download was removed before and restored since, delete its older data for good.
      const before = this.store.data(gid);
      if (before?.moved === true) this.#then(gid, () => this.#deleteData(before));
      this.store.put({ gid, batch, removedAt, bytes, record, leftover, moved: false });
      this.#then(gid, async () => {
        this.#noteEnd(gid, await stopped, await leftoverAfter(leftover, stopped));
        await this.#moveAway(gid);
      });
    }
    this.sweep();
    this.#options.onChange();
  }

  has(gid: string): boolean {
    return this.store.get(gid) !== undefined;
  }

  /**
   * Finds the full gid of a download in the trash.
   *
   * @param gid the whole gid, or a beginning of it that is unique in the trash
   * @throws MillraceError `no-such-download`
   */
  find(gid: string): string {
    const [found, other] = this.store.startingWith(gid);
    if (found !== undefined && (other === undefined || found === gid)) return found;
    const why = other === undefined ? 'is not in the trash' : 'is the beginning of several ids';
    throw new MillraceError('no-such-download', `${gid} ${why}`);
  }

  /**
   * Takes a download out of the trash and moves its data back, or beside its old place if another
   * file has taken the name.
   *
   * @returns the restored record; undefined if the download is not in the trash
   */
  restore(gid: string): Promise<DownloadRecord | undefined> {
    return this.#then(gid, async () => {
      const row = this.store.get(gid);
      if (row === undefined) return undefined;
      const record = await this.#putBack(row);
      this.store.delete(gid);
      this.#options.onChange();
      return record;
    });
  }

  /**
   * Deletes downloads for good, including unreadable ones. @returns their number, and the bytes
   * that they took on disk
   */
  async delete(gids: readonly string[]): Promise<{ count: number; bytes: number }> {
    const deleted = await Promise.all(gids.map((gid) => this.#deleteOne(gid)));
    this.#options.onChange();
    return {
      count: deleted.filter((bytes) => bytes !== undefined).length,
      bytes: deleted.reduce<number>((sum, bytes) => sum + (bytes ?? 0), 0),
    };
  }

  /** Deletes for good the entries that are too old or too many. */
  sweep(): void {
    const { limits, now } = this.#options;
    const over = beyondKeeping(this.store.entries(), limits(), now());
    // Only the user may delete an entry that cannot be read.
    const readable = over.filter((gid) => this.store.get(gid) !== undefined);
    if (readable.length > 0) void this.delete(readable);
  }

  #deleteOne(gid: string): Promise<number | undefined> {
    return this.#then(gid, async () => {
      const row = this.store.data(gid);
      if (row === undefined) return undefined;
      // Delete the entry last, so that the deletion is tried again after a crash.
      await this.#deleteData(row);
      this.store.delete(gid);
      return row.bytes;
    });
  }

  async #deleteData({ gid, leftover, moved }: TrashData): Promise<void> {
    if (leftover === undefined) return;
    if (!moved) return this.#options.removals.delete(leftover, NOTHING_LEFT, gid);
    const folder = dirname(keptAt(leftover.path, gid));
    await rm(folder, { recursive: true, force: true }).catch(() => {});
    await rmdir(dirname(folder)).catch(() => {}); // fails while the folder holds other downloads
  }

  /** Records the remains of a run, which may have completed before the stop. */
  #noteEnd(gid: string, { complete }: Left, leftover: TrashRow['leftover']): void {
    const row = this.store.get(gid);
    if (row === undefined) return;
    const record = complete === undefined ? row.record : completeRecord(row, complete);
    this.store.put({ ...row, record, leftover });
  }

  async #moveAway(gid: string): Promise<void> {
    const row = this.store.get(gid);
    if (row?.leftover === undefined || row.moved) return;
    const { path, kind, onlyOf } = row.leftover;
    const { isTaken, createDownload } = this.#options;
    // The download was added again meanwhile and needs the file in its place.
    if (isTaken(path, gid)) return this.store.put({ ...row, leftover: undefined, bytes: 0 });
    const to = keptAt(path, gid);
    try {
      await mkdir(dirname(to), { recursive: true });
      const bytes =
        kind === 'partial'
          ? await createDownload.movePartial(path, to, onlyOf)
          : await moveFile(row.leftover, to);
      this.store.put({ ...row, bytes, moved: true });
      this.#options.onChange();
    } catch {
      // The data stays in its place, and is restored or deleted there.
    } finally {
      await rmdir(dirname(to)).catch(() => {}); // fails if something was moved
      await rmdir(dirname(dirname(to))).catch(() => {});
    }
  }

  /** @returns the record, with the name that its data has now */
  async #putBack({ gid, record, leftover, moved }: TrashRow): Promise<DownloadRecord> {
    if (leftover === undefined || !moved) return record;
    const { isTaken, createDownload } = this.#options;
    const from = keptAt(leftover.path, gid);
    const taken = (path: string) => isTaken(path, gid);
    const isPartial = leftover.kind === 'partial';
    const isFree =
      !taken(leftover.path) && !existsSync(leftover.path + (isPartial ? DATA_SUFFIX : ''));
    const to = isFree ? leftover.path : freePath(leftover.path, taken);
    await mkdir(dirname(to), { recursive: true });
    if (isPartial) await createDownload.movePartial(from, to);
    else if (existsSync(from)) await rename(from, to);
    await rmdir(dirname(from)).catch(() => {});
    await rmdir(dirname(dirname(from))).catch(() => {});
    if (to === record.path || (record.path === undefined && isFree)) return record;
    const name = relative(record.request.dir, to);
    return { ...record, path: to, name, request: { ...record.request, file: name } };
  }

  /** Runs work after all earlier work on the download. */
  #then<T>(gid: string, work: () => Promise<T>): Promise<T> {
    const before = this.#work.get(gid) ?? Promise.resolve();
    const done = before.then(work);
    const settled = done
      .catch(() => {})
      .finally(() => {
        if (this.#work.get(gid) === settled) this.#work.delete(gid);
      });
    this.#work.set(gid, settled);
    return done;
  }
}

/**
 * Moves a file away if it is still the removed one.
 *
 * @returns its size in bytes; 0 if another file has taken its name, which then stays
 */
async function moveFile(leftover: Leftover, to: string): Promise<number> {
  const { path } = leftover;
  if (!isSame(leftover, await identityOf(path))) return 0;
  await rename(path, to);
  // Another file may have taken the name between the check and the move: move it back then.
  if (isSame(leftover, await identityOf(to))) return (await lstat(to)).size;
  await rename(to, path);
  return 0;
}

const NOTHING_LEFT: Left = { path: undefined, complete: undefined };

/** Returns where to keep the data of a removed download: on the file system that holds it. */
function keptAt(path: string, gid: string): string {
  return join(dirname(path), TRASH_FOLDER, gid, basename(path));
}

async function leftoverAfter(
  leftover: TrashRow['leftover'],
  stopped: Promise<Left>,
): Promise<TrashRow['leftover']> {
  return leftover === undefined ? undefined : whatIsLeft(leftover, await stopped);
}

/** Makes the record of a download that completed before the stop. */
function completeRecord({ record, removedAt }: TrashRow, complete: RunResult): DownloadRecord {
  return { ...record, ...completedBy(record, complete), state: 'complete', finishedAt: removedAt };
}
