/**
 * Records of all downloads: the unfinished ones in memory and in the queue, all of them in the
 * database. Every change is stored before it is announced.
 */

import { randomBytes } from 'node:crypto';
import { basename, join, relative } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';
import type { Note } from '@millrace/shared/base/notes';
import { haveBegun } from '@millrace/shared/download/after/after';
import { firstStep } from '@millrace/shared/download/after/follow';
import { DownloadQueue, MAX_QUEUE } from '@millrace/shared/download/queue/queue';
import { nameFromUrl } from '@millrace/shared/download/request/file-name';
import type { DownloadRequest } from '@millrace/shared/download/request/request';
import { isStorageError } from '../store/database.ts';
import type { DownloadStore } from '../store/download-store.ts';
import type { DownloadRecord, FinishedState, UnfinishedState } from '../store/record.ts';
import type { RunProgress, RunResult } from './contract.ts';

export type ManagerEvent =
  /** A limit, the schedule, or any other setting of the daemon has changed. */
  | { readonly kind: 'settings' }
  /** The trash has changed. */
  | { readonly kind: 'trash' }
  | { readonly kind: 'changed'; readonly gid: string }
  | {
      readonly kind: 'started' | 'paused' | 'stopped' | 'failed' | 'completed';
      readonly gid: string;
    }
  /** The progress of a run at its end. */
  | { readonly kind: 'stand'; readonly gid: string; readonly progress: RunProgress }
  | ({ readonly kind: 'note'; readonly gid: string } & Note)
  | { readonly kind: 'forgotten'; readonly gids: readonly string[] };

export class Records {
  readonly store: DownloadStore;
  readonly queue = new DownloadQueue();
  readonly #records = new Map<string, DownloadRecord>();
  /** Records that could not be written because the disk was full. Writing them is tried again. */
  readonly #unsaved = new Map<string, DownloadRecord>();
  readonly #listeners = new Set<(event: ManagerEvent) => void>();

  constructor(store: DownloadStore) {
    this.store = store;
  }

  /** Loads the queue as the last process left it. */
  load(): void {
    for (const record of this.store.unfinished()) {
      const state = record.state === 'active' ? 'queued' : (record.state as UnfinishedState);
      this.#records.set(record.gid, { ...record, state });
      this.queue.add(inLine(record, state));
    }
  }

  /** @returns a function that removes the listener */
  listen(listener: (event: ManagerEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  emit(event: ManagerEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  /** Returns the record of an unfinished download. */
  find(gid: string): DownloadRecord | undefined {
    return this.#records.get(gid);
  }

  /**
   * Returns the record of a download.
   *
   * @param gid the whole gid, or a beginning of it that is unique
   * @throws MillraceError `no-such-download`
   */
  get(gid: string): DownloadRecord {
    const record = this.#records.get(gid) ?? this.#unsaved.get(gid) ?? this.store.get(gid);
    if (record !== undefined) return record;
    if (/^[0-9a-f]{1,15}$/.test(gid)) {
      const found = this.store.startingWith(gid);
      if (found.length > 1)
        throw new MillraceError('no-such-download', { code: 'several-ids', values: { gid } });
      if (found[0] !== undefined) return this.get(found[0]);
    }
    const why = this.store.has(gid) ? ': its record cannot be read' : '';
    throw new MillraceError('no-such-download', `${gid.slice(0, 40)}${why}`);
  }

  exists(gid: string): boolean {
    return this.#records.has(gid) || this.#unsaved.has(gid) || this.store.has(gid);
  }

  newGid(): string {
    for (;;) {
      const gid = randomBytes(8).toString('hex');
      if (!this.exists(gid)) return gid;
    }
  }

  /** Returns the unfinished downloads: running ones, then the queue in order. */
  unfinished(): DownloadRecord[] {
    const items = [...this.queue.active, ...this.queue.line];
    return items.map(({ gid }) => this.#records.get(gid) as DownloadRecord);
  }

  /**
   * Puts a download at the end of its priority, or at a position.
   *
   * @throws MillraceError `disk-full`, `state-unusable` if it cannot be stored; it is not in the
   *   queue then
   */
  enqueue(record: DownloadRecord, position?: number): void {
    this.#records.set(record.gid, record);
    try {
      const changed = this.queue.add(
        { ...inLine(record, record.state), rank: undefined },
        position,
      );
      this.keepOrder(changed);
      if (this.#unsaved.has(record.gid)) this.store.put(this.find(record.gid) as DownloadRecord);
    } catch (error) {
      this.drop(record.gid);
      throw error;
    }
  }

  /** Forgets changes that are not in the database. @returns whether there were any */
  drop(gid: string): boolean {
    this.queue.remove(gid);
    this.#records.delete(gid);
    return this.#unsaved.delete(gid);
  }

  /** Puts a download back at its earlier place in the queue. @throws MillraceError `queue-full` */
  restore(record: DownloadRecord): void {
    this.checkRoom(1);
    this.#keep(record);
    this.queue.add(inLine(record, record.state));
    this.emit({ kind: 'changed', gid: record.gid });
  }

  /**
   * Puts a finished download back into the queue. If pieces that it shares with other files are fetched
   * again, its actions that have begun are kept, so that they are not carried out twice.
   *
   * @throws MillraceError `queue-full`
   */
  reopen(record: DownloadRecord): void {
    this.checkRoom(1);
    const isBorder = record.request.older?.except !== undefined;
    this.enqueue({
      ...record,
      state: 'queued',
      finishedAt: undefined,
      attempts: 0,
      after: isBorder && haveBegun(record.after) ? record.after : undefined,
    });
  }

  /** @throws MillraceError `queue-full` */
  checkRoom(more: number): void {
    if (this.queue.size + more > MAX_QUEUE) throw new MillraceError('queue-full');
  }

  update(gid: string, patch: Partial<DownloadRecord>): void {
    const record = this.#records.get(gid);
    if (record === undefined) return;
    this.#keep({ ...record, ...patch });
    this.emit({ kind: 'changed', gid });
  }

  /** Marks a download as queued, as if it had never been tried. */
  requeue(gid: string): void {
    this.update(gid, { state: 'queued', attempts: 0, retryAt: undefined });
  }

  /** Updates fields that change all the time, without an event: timers send them to clients. */
  updateSilently(gid: string, patch: Partial<DownloadRecord>): void {
    const record = this.#records.get(gid);
    if (record !== undefined) this.#keep({ ...record, ...patch });
  }

  /** Records the end of an unfinished download. */
  finish(gid: string, state: FinishedState, at: number, patch: Partial<DownloadRecord>): void {
    const record = this.#records.get(gid) as DownloadRecord;
    this.queue.remove(gid);
    this.#records.delete(gid);
    this.#save({ ...record, ...patch, state, finishedAt: at, retryAt: undefined });
    this.emit({ kind: 'changed', gid });
  }

  /** Changes a finished download. */
  changeFinished(record: DownloadRecord, patch: Partial<DownloadRecord>): void {
    this.#save({ ...record, ...patch });
    this.emit({ kind: 'changed', gid: record.gid });
  }

  /** Removes a finished download from the history. @returns false if there is none with that gid */
  forget(gid: string): boolean {
    if (this.#records.has(gid)) return false;
    const unsaved = this.drop(gid);
    if (!this.store.delete(gid) && !unsaved) return false;
    this.emit({ kind: 'forgotten', gids: [gid] });
    return true;
  }

  /** Removes an unreadable row from the database. @returns false if it is readable or missing */
  forgetDamaged(gid: string): boolean {
    const isKnown = this.#records.has(gid) || this.#unsaved.has(gid);
    if (isKnown || this.store.get(gid) !== undefined || !this.store.delete(gid)) return false;
    this.emit({ kind: 'forgotten', gids: [gid] });
    return true;
  }

  /** Stores the priorities and ranks of the queue. */
  keepOrder(gids: readonly string[]): void {
    for (const gid of gids) {
      const record = this.#records.get(gid);
      const item = this.queue.get(gid);
      if (record === undefined || item === undefined) continue;
      this.#keep({ ...record, priority: item.priority, rank: item.rank });
    }
  }

  /** Returns true if another unfinished download writes to the path, or has begun to. */
  isTaken(path: string, by: string): boolean {
    for (const other of this.#records.values()) {
      const begun = other.state !== 'queued' || other.path !== undefined;
      if (other.gid !== by && begun && targetOf(other) === path) return true;
    }
    return false;
  }

  /** True while some change is not stored yet. */
  get behind(): boolean {
    return this.#unsaved.size > 0;
  }

  /** Stores the changes that could not be stored before. */
  saveUnsaved(): void {
    for (const record of [...this.#unsaved.values()]) {
      if (!this.#save(record)) return;
    }
  }

  #keep(record: DownloadRecord): void {
    this.#records.set(record.gid, record);
    this.#save(record);
  }

  /**
   * Stores a record. A full disk must not end a download or the daemon. @returns false if the
   * record is to be stored later
   */
  #save(record: DownloadRecord): boolean {
    try {
      this.store.put(record);
      this.#unsaved.delete(record.gid);
      return true;
    } catch (error) {
      if (!isStorageError(error)) throw error;
      this.#unsaved.set(record.gid, record);
      return false;
    }
  }
}

function inLine(record: DownloadRecord, state: DownloadRecord['state']) {
  return { ...record, startAt: record.options.startAt, state: state as 'queued' };
}

/** Returns the path that a download writes to from its next start on, as far as it is known. */
export function targetOf({ path, request }: DownloadRecord): string {
  const name = path === undefined ? nameFromUrl(request.urls[0] as string) : basename(path);
  return join(request.dir, request.file ?? name);
}

/** Makes the changes to a record whose run has completed. */
export function completedBy(record: DownloadRecord, result: RunResult): Partial<DownloadRecord> {
  const { request, receivedBytes: before } = record;
  const { path, bytes, digest, vouch, receivedBytes } = result;
  return {
    path,
    name: relative(request.dir, path),
    // Once the file is complete, an older one is of no use, and a repair's right to replace has ended.
    request: {
      ...request,
      older: undefined,
      overwrite: request.overwrite && request.older?.repairs !== true,
    },
    length: bytes,
    storedBytes: bytes,
    receivedBytes: before + receivedBytes,
    digest,
    vouch,
    error: undefined,
    // Stored together with the completion, so that a crash after it leaves no description behind.
    options: { ...record.options, follows: followsOf(record, result) },
  };
}

/** Returns how far a complete file has been followed to those that it describes; undefined for one like others. */
function followsOf({ options }: DownloadRecord, { path, contentType }: RunResult) {
  const { follow, following, known, aria2 } = options;
  // The user wants a torrent that the user has named. For clients of aria2 its name makes it a description.
  if (known === true && follow === undefined && aria2 === undefined) return options.follows;
  const isDescribed = following !== undefined;
  const file = { name: path, type: contentType, isKnown: known === true, isDescribed };
  return options.follows ?? firstStep(file, follow);
}

/**
 * Makes the request of a run. A download that has begun keeps its name, because its partial file is
 * found by that name.
 */
export function requestToRun(record: DownloadRecord): DownloadRequest {
  const { path, request, options } = record;
  if (path === undefined) {
    return { ...request, rename: options.rename && options.named !== true };
  }
  return { ...request, file: relative(request.dir, targetOf(record)), rename: false };
}

/** Makes the record's changes for the path that the run reports. */
export function placeOf({ request }: DownloadRecord, path: string) {
  const name = relative(request.dir, path);
  return { path, name, request: request.file === undefined ? request : { ...request, file: name } };
}
