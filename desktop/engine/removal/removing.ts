/** Removes downloads: into the trash, from where they can be restored, or for good. */

import { randomBytes } from 'node:crypto';
import { lstat } from 'node:fs/promises';
import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { MAX_TRASH_ENTRIES, type TrashLimits } from '@millrace/shared/download/queue/trash';
import { journalUrls } from '@millrace/shared/download/request/request';
import type { DownloadFactory, Left, RunResult } from '../queue/contract.ts';
import type { QueueRunner } from '../queue/queue-runner.ts';
import { completedBy, type Records, targetOf } from '../queue/records.ts';
import { type DownloadRecord, type FinishedState, isFinished } from '../store/record.ts';
import type { SettingStore } from '../store/small-stores.ts';
import type { Leftover, TrashStore } from '../store/trash-store.ts';
import { PendingRemovals, type Removed } from './pending-removals.ts';
import { Trash } from './trash.ts';

export interface Removing {
  readonly gids: readonly string[];
  /** Also delete the partial files of downloads that are not complete. */
  readonly deletePartial: boolean;
  /** Also delete the files of complete downloads. */
  readonly deleteFile: boolean;
  /** Also remove the downloads from the history. */
  readonly forget: boolean;
  /** Delete for good at once, instead of moving to the trash. */
  readonly now: boolean;
}

export interface RemoverOptions {
  readonly records: Records;
  readonly queueRunner: QueueRunner;
  readonly createDownload: DownloadFactory;
  /** Holds the pending deletions. */
  readonly settingStore: SettingStore;
  readonly trashStore: TrashStore;
  readonly trashLimits: () => TrashLimits;
  /** Unix milliseconds. */
  readonly now: () => Millis;
}

export class Remover {
  readonly #records: Records;
  readonly #queueRunner: QueueRunner;
  readonly #now: () => Millis;
  readonly #removals: PendingRemovals;
  readonly #trashLimits: () => TrashLimits;
  readonly trash: Trash;

  constructor(options: RemoverOptions) {
    const { records, queueRunner, createDownload, settingStore, now } = options;
    this.#records = records;
    this.#queueRunner = queueRunner;
    this.#now = now;
    this.#removals = new PendingRemovals({
      store: settingStore,
      isTaken: (path, by) => records.isTaken(path, by),
      removePartial: (path, onlyOf) => createDownload.removePartial(path, onlyOf),
    });
    this.#trashLimits = options.trashLimits;
    this.trash = new Trash({
      store: options.trashStore,
      removals: this.#removals,
      createDownload,
      isTaken: (path, by) => records.isTaken(path, by),
      limits: options.trashLimits,
      onChange: () => records.emit({ kind: 'trash' }),
      now,
    });
  }

  /** Continues the work that the last process left. */
  start(): void {
    this.#removals.start();
    this.trash.start();
  }

  /** Resolves when all work under way is done. */
  async close(): Promise<void> {
    await this.trash.close();
    await this.#removals.close();
  }

  /**
   * Ends an unfinished download for good.
   *
   * @param deletePartial whether to delete its partial file as well
   * @returns false if the download was finished already
   */
  end(gid: string, deletePartial: boolean): boolean {
    const record = this.#records.find(gid);
    if (record === undefined) return false;
    this.#removals.work(
      deletePartial
        ? this.#queueRunner.stopAnd(gid, (left) => this.#deleteWhatIsLeft(record, left))
        : this.#queueRunner.stop(gid).then(({ complete }) => this.#isComplete(gid, complete)),
    );
    const gone = deletePartial ? { path: undefined, storedBytes: 0 } : {};
    this.#records.finish(gid, 'removed', this.#now(), { error: undefined, ...gone });
    this.#records.emit({ kind: 'stopped', gid });
    this.#queueRunner.tick();
    return true;
  }

  /**
   * Deletes what a failed or removed download left on disk.
   *
   * @returns false if the download is neither failed nor removed
   */
  deleteLeft(gid: string): boolean {
    const record = this.#records.get(gid);
    if (record.state !== 'error' && record.state !== 'removed') return false;
    this.#removals.work(
      this.#queueRunner.stopAnd(gid, () => this.#deleteWhatIsLeft(record, NOTHING_LEFT)),
    );
    this.#records.store.put({ ...record, path: undefined, storedBytes: 0 });
    this.#records.emit({ kind: 'changed', gid });
    return true;
  }

  /**
   * Removes downloads, finished or not, together with their files on disk.
   *
   * @returns the affected downloads, and the argument for `undo` unless the removal was for good
   * @throws MillraceError `no-such-download`, or `wrong-state` if a file to be deleted is not the
   *   file that was downloaded; nothing is removed then
   */
  async remove(what: Removing): Promise<{ gids: string[]; undo?: string }> {
    const damaged = this.#forgetDamaged(what);
    const { all, files } = await this.#filesOf({
      ...what,
      gids: what.gids.filter((gid) => !damaged.includes(gid)),
    });
    const forGood = what.now || this.#trashLimits().days === 0;
    const undo = randomBytes(9).toString('base64url');
    const removed = this.#atOnce(() => {
      const now = all.flatMap((gid, i) => this.#removeOne(gid, what, files[i], forGood) ?? []);
      if (!forGood) this.trash.put(now, undo);
      return now;
    });
    const gids = [...damaged, ...removed.map(({ record }) => record.gid)];
    if (!forGood) return removed.length === 0 ? { gids } : { gids, undo };
    const deleted = this.#removals.deleteNow(removed);
    if (what.deleteFile) await deleted;
    return { gids };
  }

  /**
   * Removes finished downloads from the history, and puts the newest of them into the trash, as
   * many as it holds.
   *
   * @returns the downloads removed from the history, and the argument for `undo`
   */
  forgetFinished(
    states: readonly FinishedState[] | undefined,
    before?: Millis,
  ): { gids: string[]; undo?: string } {
    const { store } = this.#records;
    const undo = randomBytes(9).toString('base64url');
    const gids = this.#atOnce(() => {
      const page = { offset: 0, limit: MAX_TRASH_ENTRIES };
      const { records } = store.history({ states }, page);
      const over = records.filter(({ finishedAt = 0 }) => finishedAt < (before ?? Infinity));
      const stopped = Promise.resolve(NOTHING_LEFT);
      if (this.#trashLimits().days > 0) {
        // Put the newest in last: the trash restores it first and evicts it last.
        const removed = over.reverse().map((record) => ({ record, leftover: undefined, stopped }));
        this.trash.put(removed, undo);
      }
      return store.deleteFinished(states, before);
    });
    if (gids.length > 0) this.#records.emit({ kind: 'forgotten', gids });
    return this.trash.store.batch(undo).length === 0 ? { gids } : { gids, undo };
  }

  /**
   * Restores the downloads of a removal.
   *
   * @param id undefined for the last removal
   * @returns the restored downloads
   * @throws MillraceError `wrong-state` if the trash holds nothing of the removal, `queue-full`
   */
  async undo(id?: string): Promise<string[]> {
    const gids = this.trash.store.batch(id);
    if (gids.length === 0) throw new MillraceError('wrong-state', { code: 'nothing-to-undo' });
    return this.restore(gids);
  }

  /**
   * Restores removed downloads from the trash; unfinished ones go back into the queue.
   *
   * @returns the restored downloads
   * @throws MillraceError `queue-full`; nothing is restored then
   */
  async restore(gids: readonly string[]): Promise<string[]> {
    const rows = gids.flatMap((gid) => this.trash.store.get(gid) ?? []);
    this.#records.checkRoom(rows.filter(({ record }) => !isFinished(record.state)).length);
    const usable = rows.filter(({ gid }) => this.#records.find(gid) === undefined);
    const records = await Promise.all(usable.map(({ gid }) => this.trash.restore(gid)));
    return this.#atOnce(() =>
      records.flatMap((record) => (record && this.#bringBack(record) ? [record.gid] : [])),
    );
  }

  /** Removes unreadable rows from the list for good, because the trash could not restore them. */
  #forgetDamaged({ gids, forget }: Removing): string[] {
    return forget ? gids.filter((gid) => this.#records.forgetDamaged(gid)) : [];
  }

  /** Returns the files to delete of the downloads that are complete by now. */
  async #filesOf({ gids, deleteFile, deletePartial }: Removing) {
    const asked = gids.map((gid) => this.#records.get(gid));
    for (;;) {
      const now = asked.map(({ gid }) => this.#records.get(gid));
      const files = await Promise.all(
        now.map((record, i) => {
          // Keep nothing of a download that was unfinished when its removal was requested.
          const unfinished = !isFinished((asked[i] as DownloadRecord).state);
          return fileOf(record, deleteFile || (deletePartial && unfinished));
        }),
      );
      // A download may have completed during the wait; then look again.
      if (now.every(({ gid, state }) => this.#records.get(gid).state === state)) {
        return { all: now.map(({ gid }) => gid), files };
      }
    }
  }

  #removeOne(
    gid: string,
    what: Removing,
    file: Leftover | undefined,
    forGood: boolean,
  ): Removed | undefined {
    if (!forGood) return this.#removeForNow(gid, what, file);
    const record = this.#records.get(gid);
    let touched = file !== undefined || this.end(gid, what.deletePartial);
    if (isFinished(record.state) && what.deletePartial && this.deleteLeft(gid)) {
      touched ||= record.path !== undefined;
    }
    if (what.forget) touched = this.#records.forget(gid) || touched;
    return touched ? { record, stopped: Promise.resolve(NOTHING_LEFT), leftover: file } : undefined;
  }

  /** Removes a download from the list; its data stays in place until the trash moves it. */
  #removeForNow(gid: string, what: Removing, file: Leftover | undefined): Removed | undefined {
    // Read this before the stop: a run that just began has a file before it reports the path.
    const begun = this.#queueRunner.running(gid)?.progress().path;
    // Stop first, so that the record includes the progress of the run.
    const stopped = this.#queueRunner.stop(gid);
    const record = this.#records.get(gid);
    const unfinished = !isFinished(record.state);
    const partial = what.deletePartial && record.state !== 'complete';
    const leftover = partial ? leftoverOf(record, begun) : file;
    const hasLeft = record.path !== undefined && partial;
    if (!unfinished && !what.forget && file === undefined && !hasLeft) return undefined;
    const gone = partial ? { path: undefined, storedBytes: 0 } : {};
    if (unfinished) {
      this.#records.finish(gid, 'removed', this.#now(), { error: undefined, ...gone });
      this.#records.emit({ kind: 'stopped', gid });
    } else if (!what.forget && hasLeft) {
      this.#records.store.put({ ...record, ...gone });
      this.#records.emit({ kind: 'changed', gid });
    }
    if (what.forget) this.#records.forget(gid);
    return { record, stopped, leftover };
  }

  /** @param left remains of the last run, which may have a partial file that it did not report */
  async #deleteWhatIsLeft(record: DownloadRecord, left: Left): Promise<void> {
    const leftover = leftoverOf(record, left.path);
    if (leftover !== undefined) await this.#removals.delete(leftover, left, record.gid);
  }

  /**
   * Marks the download as complete if it completed before the stop; its file was not to be deleted.
   */
  #isComplete(gid: string, result: RunResult | undefined): void {
    const record = this.#records.store.get(gid);
    if (result === undefined || record?.state !== 'removed') return;
    this.#records.store.put({ ...record, ...completedBy(record, result), state: 'complete' });
    this.#records.emit({ kind: 'changed', gid });
  }

  /** @returns false if the download was restored in another way meanwhile */
  #bringBack(record: DownloadRecord): boolean {
    const { gid, state } = record;
    if (this.#records.find(gid) !== undefined) return false;
    if (isFinished(state)) {
      this.#records.store.put(record);
      this.#records.emit({ kind: 'changed', gid });
    } else {
      this.#records.restore({ ...record, state: state === 'active' ? 'queued' : state });
    }
    return true;
  }

  #atOnce<T>(work: () => T): T {
    return this.#queueRunner.hold(() => this.#records.store.atOnce(work));
  }
}

const NOTHING_LEFT: Left = { path: undefined, complete: undefined };

/** Returns the partial file that a download may have left; undefined if it has never run. */
function leftoverOf(record: DownloadRecord, left: string | undefined): Leftover | undefined {
  if (record.startedAt === undefined) return undefined;
  const path = record.path ?? left;
  if (path !== undefined) return { path, kind: 'partial' };
  // A guessed path may hold the partial file of another download.
  return { path: targetOf(record), kind: 'partial', onlyOf: [...journalUrls(record.request)] };
}

/**
 * Returns the file of a complete download if it is to be deleted.
 *
 * @throws MillraceError `wrong-state` if the file at its path has another size: the file belongs to
 *   another program by now, or always did if the record was imported from a list
 */
async function fileOf(
  { state, path, length }: DownloadRecord,
  wanted: boolean,
): Promise<Leftover | undefined> {
  if (!wanted || state !== 'complete' || path === undefined) return undefined;
  const info = await lstat(path).catch(() => undefined);
  if (info === undefined) return undefined;
  if (!info.isFile() || info.size !== length) {
    throw new MillraceError('wrong-state', { code: 'not-downloaded-file', values: { path } });
  }
  return { path, kind: 'file', ino: info.ino, mtimeMs: info.mtimeMs };
}
