/** Removes downloads, and brings them back while there is time. */

import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { type DownloadRecord, isFinished } from '../store/record.ts';
import type { SettingStore } from '../store/small-stores.ts';
import type { Conductor } from './conductor.ts';
import type { DownloadFactory } from './contract.ts';
import type { Ledger } from './ledger.ts';
import { identityOf, type Leftover, Removals, type Removed } from './removals.ts';

export interface Removing {
  readonly gids: readonly string[];
  /** Also what unfinished ones have so far. */
  readonly deletePartial: boolean;
  /** Also the files of complete ones. */
  readonly deleteFile: boolean;
  /** Out of the history as well. */
  readonly forget: boolean;
  /** Time for undoing it; 0: none. */
  readonly undoMs: number;
}

export interface RemoverOptions {
  readonly ledger: Ledger;
  readonly conductor: Conductor;
  readonly createDownload: DownloadFactory;
  /** Where what is still to be deleted is written down. */
  readonly settingStore: SettingStore;
  /** Unix milliseconds. */
  readonly now: () => Millis;
}

export class Remover {
  readonly #ledger: Ledger;
  readonly #conductor: Conductor;
  readonly #now: () => Millis;
  readonly #removals: Removals;

  constructor({ ledger, conductor, createDownload, settingStore, now }: RemoverOptions) {
    this.#ledger = ledger;
    this.#conductor = conductor;
    this.#now = now;
    this.#removals = new Removals({
      store: settingStore,
      isTaken: (path) => ledger.isTaken(path, ''),
      removePartial: (path) => createDownload.removePartial(path),
    });
  }

  /** Deletes what a run that crashed had still to delete. */
  start(): void {
    this.#removals.start();
  }

  /** Nothing can be undone any more. */
  close(): Promise<void> {
    return this.#removals.close();
  }

  /**
   * Removes downloads, finished or not. Files are deleted when the time for undoing it is over.
   *
   * @returns those that were touched, and what `undo` takes if there is time
   * @throws MillraceError `no-such-download`: nothing has been removed then
   */
  async remove(what: Removing): Promise<{ gids: string[]; undo?: string }> {
    const records = what.gids.map((gid) => this.#ledger.get(gid));
    const files = await Promise.all(records.map((record) => fileOf(record, what.deleteFile)));
    const removed = this.#atOnce(() =>
      records.flatMap(({ gid }, i) => this.#removeOne(gid, what, files[i]) ?? []),
    );
    const gids = removed.map(({ record }) => record.gid);
    if (what.undoMs > 0 && gids.length > 0) {
      return { gids, undo: this.#removals.add(removed, what.undoMs) };
    }
    const deleted = this.#removals.deleteNow(removed);
    if (what.deleteFile) await deleted;
    return { gids };
  }

  /**
   * Brings back what a removal has taken away.
   *
   * @returns those that are there again
   * @throws MillraceError `wrong-state` if it is too late, `queue-full`
   */
  undo(id: string): string[] {
    const removed = this.#removals.undo(id);
    if (removed === undefined)
      throw new MillraceError('wrong-state', 'it is too late to undo that');
    return this.#atOnce(() =>
      removed.flatMap(({ record }) => (this.#bringBack(record) ? [record.gid] : [])),
    );
  }

  #removeOne(gid: string, what: Removing, file: Leftover | undefined): Removed | undefined {
    // A run that is about to begin has a file before it tells where.
    const begun = this.#conductor.running(gid)?.progress().path;
    // First, so that the record has what the run has brought.
    const stopped = this.#conductor.stop(gid);
    const record = this.#ledger.get(gid);
    const unfinished = !isFinished(record.state);
    if (!unfinished && !what.forget && file === undefined) return undefined;
    if (unfinished) {
      this.#ledger.finish(gid, 'removed', this.#now(), { error: undefined });
      this.#ledger.emit({ kind: 'stopped', gid });
    }
    if (what.forget) this.#ledger.forget(gid);
    const path = record.path ?? begun;
    const partial = unfinished && what.deletePartial && path !== undefined;
    return { record, stopped, leftover: partial ? { path, kind: 'partial' } : file };
  }

  /** @returns false if it has come back in another way meanwhile */
  #bringBack(record: DownloadRecord): boolean {
    const { gid, state } = record;
    if (this.#ledger.find(gid) !== undefined) return false;
    if (isFinished(state)) {
      this.#ledger.store.put(record);
      this.#ledger.emit({ kind: 'changed', gid });
    } else {
      this.#ledger.restore({ ...record, state: state === 'active' ? 'queued' : state });
    }
    return true;
  }

  #atOnce<T>(work: () => T): T {
    return this.#conductor.hold(() => this.#ledger.store.atOnce(work));
  }
}

/** The file of a complete download, if it is to be deleted. */
async function fileOf({ state, path }: DownloadRecord, wanted: boolean) {
  if (!wanted || state !== 'complete' || path === undefined) return undefined;
  return { path, kind: 'file' as const, ...(await identityOf(path)) };
}
