/**
 * The daemon's downloads: what users do with them, what happens to them, and what is kept of them.
 * Which run is for the queue to say; what is here carries it out and writes it down.
 */

import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Millis, Random } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { nameFromUrl } from '@millrace/shared/download/file-name';
import { DownloadQueue, MAX_QUEUE, type Move } from '@millrace/shared/download/queue';
import { type ScheduleState, scheduleAt } from '@millrace/shared/download/schedule';
import type { DownloadStore } from '../store/download-store.ts';
import {
  type DownloadRecord,
  type FinishedState,
  isFinished,
  type UnfinishedState,
} from '../store/record.ts';
import type { DownloadFactory, Run, RunEvent } from './contract.ts';
import { freePath } from './file-choice.ts';
import type { HostMemory } from './host-memory.ts';
import {
  type Change,
  changeSchema,
  check,
  checkFile,
  downloadUrl,
  type NewDownload,
  newRecord,
} from './new-download.ts';
import { type Outcome, Runner } from './runner.ts';
import type { Limits, Settings } from './settings.ts';
import type { SharedRate } from './shared-rate.ts';

export type ManagerEvent =
  | { readonly kind: 'changed'; readonly gid: string }
  | {
      readonly kind: 'started' | 'paused' | 'stopped' | 'completed' | 'failed';
      readonly gid: string;
    }
  | { readonly kind: 'note'; readonly gid: string; readonly text: string }
  | { readonly kind: 'forgotten'; readonly gids: readonly string[] };

export interface ManagerOptions {
  readonly store: DownloadStore;
  readonly settings: Settings;
  readonly hosts: HostMemory;
  readonly rate: SharedRate;
  readonly createDownload: DownloadFactory;
  /** Download folder unless the settings have one. */
  readonly dir: string;
  /** Unix milliseconds. */
  readonly now: () => Millis;
  readonly random: Random;
}

/** How often what has come in is written down: shown as it was after a crash. */
const KEEP_PROGRESS_MS = 5000;
/** The clock may be set, and machines sleep: deadlines are looked at again after so long. */
const MAX_TIMER_MS = 60_000;
/** Failures that a change outside mends, however long it takes. */
const PATIENT: ReadonlySet<string> = new Set(['disk-full']);
/** The same, once the host has shown that it exists. */
const PATIENT_ONCE_SEEN: ReadonlySet<string> = new Set(['origin-unreachable', 'origin-timeout']);

export class Manager {
  readonly #o: ManagerOptions;
  readonly #queue = new DownloadQueue();
  readonly #records = new Map<string, DownloadRecord>();
  readonly #runner: Runner;
  readonly #listeners = new Set<(event: ManagerEvent) => void>();
  /** Deletions and the like that go on in the background. */
  readonly #chores = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #keeper: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: ManagerOptions) {
    this.#o = options;
    this.#runner = new Runner({
      ...options,
      hostLimits: options.hosts,
      onEvent: (gid, event) => this.#onEvent(gid, event),
      onEnded: (gid, outcome) => this.#onEnded(gid, outcome),
    });
  }

  get settings(): Settings {
    return this.#o.settings;
  }

  get hosts(): HostMemory {
    return this.#o.hosts;
  }

  get store(): DownloadStore {
    return this.#o.store;
  }

  get queue(): DownloadQueue {
    return this.#queue;
  }

  get dir(): string {
    return this.settings.dir ?? this.#o.dir;
  }

  /** Takes up the queue as the last run has left it. @returns rows that could not be read */
  start(): number {
    const { records, damaged } = this.store.unfinished();
    for (const record of records) {
      const state = record.state === 'active' ? 'queued' : (record.state as UnfinishedState);
      this.#records.set(record.gid, { ...record, state });
      this.#queue.add({ ...record, state: state as 'queued' });
    }
    this.#keeper = setInterval(() => this.#keepProgress(), KEEP_PROGRESS_MS);
    this.#tick();
    return damaged;
  }

  /** Interrupts what runs; it goes on at the next start. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    clearInterval(this.#keeper);
    this.#keepProgress();
    await this.#runner.stopAll();
    await Promise.all(this.#chores);
  }

  /** @returns takes the listener away again */
  listen(listener: (event: ManagerEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The download as it runs; undefined while it does not. */
  running(gid: string): Run | undefined {
    return this.#runner.get(gid);
  }

  /** Unfinished downloads: those that run, then the queue in order. */
  unfinished(): DownloadRecord[] {
    const items = [...this.#queue.active, ...this.#queue.line];
    return items.map(({ gid }) => this.#records.get(gid) as DownloadRecord);
  }

  /**
   * @param gid or any beginning of it that no other has
   * @throws MillraceError `no-such-download`
   */
  get(gid: string): DownloadRecord {
    const record = this.#records.get(gid) ?? this.store.get(gid);
    if (record !== undefined) return record;
    if (/^[0-9a-f]{1,15}$/.test(gid)) {
      const found = this.store.startingWith(gid);
      if (found.length > 1) throw new MillraceError('no-such-download', `${gid} is not enough`);
      if (found[0] !== undefined) return this.get(found[0]);
    }
    throw new MillraceError('no-such-download', gid.slice(0, 40));
  }

  /** @throws MillraceError for what cannot be downloaded; nothing has been added then */
  add(asked: NewDownload): DownloadRecord {
    return this.addAll([asked])[0] as DownloadRecord;
  }

  /** Adds several, or none at all. */
  addAll(asked: readonly NewDownload[]): DownloadRecord[] {
    if (this.#queue.size + asked.length > MAX_QUEUE) throw new MillraceError('queue-full');
    const { categories } = this.settings;
    const now = this.#o.now();
    const records = asked.map((one) =>
      newRecord(one, { gid: this.#newGid(), dir: this.dir, categories, now }),
    );
    const gids = new Set(records.map(({ gid }) => gid));
    const twice = records.find(({ gid }) => this.#exists(gid));
    if (twice !== undefined || gids.size < records.length) {
      throw new MillraceError('bad-option', `gid: ${twice?.gid ?? 'one'} is there already`);
    }
    this.store.atOnce(() => {
      records.forEach((record, i) => {
        this.#records.set(record.gid, record);
        const item = { ...record, rank: undefined, state: record.state as 'queued' };
        this.#syncOrder(this.#queue.add(item, asked[i]?.position));
      });
    });
    for (const { gid } of records) this.#emit({ kind: 'changed', gid });
    this.#tick();
    return records.map(({ gid }) => this.get(gid));
  }

  /** Adds to the history what another list has as finished. */
  addFinished(
    asked: NewDownload,
    ended: Pick<DownloadRecord, 'state' | 'finishedAt' | 'createdAt'> & Partial<DownloadRecord>,
  ): DownloadRecord {
    const { categories } = this.settings;
    const around = { gid: this.#newGid(), dir: this.dir, categories, now: this.#o.now() };
    const record = { ...newRecord(asked, around), ...ended };
    this.store.put({ ...record, storedBytes: record.length ?? 0 });
    return record;
  }

  /** @returns false if it is paused or finished already */
  pause(gid: string): boolean {
    if (!this.#queue.pause(gid)) return false;
    void this.#stopRun(gid);
    this.#update(gid, { state: 'paused', retryAt: undefined });
    this.#emit({ kind: 'paused', gid });
    this.#tick();
    return true;
  }

  /** @returns false if it was not paused */
  resume(gid: string): boolean {
    if (!this.#queue.resume(gid)) return false;
    this.#update(gid, { state: 'queued', attempts: 0, retryAt: undefined });
    this.#tick();
    return true;
  }

  /** Puts a failed or removed one into the queue again, and one that waits to its front. */
  retry(gid: string): boolean {
    const record = this.get(gid);
    if (record.state === 'waiting') this.#queue.hurry(record.gid);
    else if (record.state !== 'error' && record.state !== 'removed') return false;
    else this.#requeueFinished(record);
    this.#update(record.gid, { state: 'queued', attempts: 0, retryAt: undefined });
    this.#tick();
    return true;
  }

  /**
   * Ends an unfinished download.
   *
   * @param deletePartial also what it has so far
   * @returns false if it was finished already
   */
  remove(gid: string, deletePartial: boolean): boolean {
    const record = this.#records.get(gid);
    if (record === undefined) return false;
    const stopped = this.#stopRun(gid);
    this.#finish(gid, 'removed', { error: undefined });
    this.#emit({ kind: 'stopped', gid });
    if (deletePartial && record.path !== undefined) {
      const { path } = record;
      this.#chore(stopped.then(() => this.#o.createDownload.removePartial(path)));
    }
    this.#tick();
    return true;
  }

  /** Takes a finished download out of the history. @returns false if it is none */
  forget(gid: string): boolean {
    if (this.#records.has(gid) || !this.store.delete(gid)) return false;
    this.#emit({ kind: 'forgotten', gids: [gid] });
    return true;
  }

  /** Deletes the file of a complete download. */
  async deleteFile(gid: string): Promise<void> {
    const { state, path } = this.get(gid);
    if (state === 'complete' && path !== undefined) await rm(path, { force: true });
  }

  /** @returns how many are gone */
  purge(states: readonly FinishedState[] | undefined, before?: Millis): number {
    const gids = this.store.purge(states, before);
    if (gids.length > 0) this.#emit({ kind: 'forgotten', gids });
    return gids.length;
  }

  /** @returns the place it has got; -1 if it does not stand in line */
  move(gid: string, offset: number, how: Move): number {
    const { position, changed } = this.#queue.move(gid, offset, how);
    this.store.atOnce(() => this.#syncOrder(changed));
    for (const one of changed) this.#emit({ kind: 'changed', gid: one });
    this.#tick();
    return position;
  }

  /**
   * Changes an unfinished download: its limit and priority at once, the rest by starting it anew.
   *
   * @throws MillraceError `no-such-download`, `wrong-state`, `bad-option`
   */
  change(gid: string, wanted: Change): void {
    const record = this.get(gid);
    if (isFinished(record.state)) throw new MillraceError('wrong-state', `${gid} is finished`);
    const { limit, priority, category, rename, maxTries, aria2, ...rest } = check(
      changeSchema,
      wanted,
    );
    const folder = this.settings.categories.find(({ name }) => name === category);
    if (category !== undefined && folder === undefined) {
      throw new MillraceError('bad-option', `category: there is no "${category}"`);
    }
    if (rest.file !== undefined) rest.file = checkFile(rest.file);
    const request = { ...record.request, ...rest };
    if (limit !== undefined) request.limit = limit ?? undefined;
    const options = {
      rename: rename ?? record.options.rename,
      maxTries: maxTries ?? record.options.maxTries,
      aria2: { ...record.options.aria2, ...aria2 },
    };
    this.#update(gid, { request, options, category: category ?? record.category });
    if (limit !== undefined) this.running(gid)?.setLimit(limit ?? undefined);
    if (priority !== undefined) {
      this.#queue.setPriority(gid, priority);
      this.#syncOrder([gid]);
    }
    if (Object.keys(rest).length > 0) this.#restart(gid);
    this.#tick();
  }

  /** Changes the URLs; a running download learns of new ones, others cost a start anew. */
  setUrls(gid: string, texts: readonly string[]): void {
    const record = this.get(gid);
    const urls = [...new Set(texts.map((text) => downloadUrl(text).href))];
    if (urls.length === 0) throw new MillraceError('bad-option', 'urls: none would be left');
    const before = record.request.urls;
    this.#update(gid, {
      request: { ...record.request, urls },
      host: new URL(urls[0] as string).host,
    });
    const run = this.running(gid);
    if (run === undefined) return;
    const onlyMore = before.every((url) => urls.includes(url)) && before[0] === urls[0];
    if (!onlyMore) return this.#restart(gid);
    for (const url of urls) if (!before.includes(url)) run.addUrl(url);
  }

  /**
   * A new URL for a download whose link has expired: the engine goes on with what is there if the
   * file is the same.
   *
   * @throws MillraceError `wrong-state` if it is complete
   */
  replaceUrl(gid: string, text: string): void {
    const url = downloadUrl(text).href;
    const record = this.get(gid);
    if (record.state === 'complete') throw new MillraceError('wrong-state', 'it is complete');
    if (isFinished(record.state)) this.#requeueFinished(record);
    // The name stays: it is what the partial file is found by.
    const { path, request } = record;
    const file = path === undefined ? request.file : relative(request.dir, path);
    const urls = [url, ...request.urls.slice(1).filter((other) => other !== url)];
    this.#update(gid, { request: { ...request, urls, file }, host: new URL(url).host });
    if (record.state === 'active') this.#restart(gid);
    else if (record.state !== 'paused') this.retry(gid);
    this.#tick();
  }

  /** Sets the limits over all downloads. */
  setLimits(limits: Limits): void {
    this.settings.limits = limits;
    this.#tick();
  }

  /** To be called when the schedule or the folder has been changed. */
  settingsChanged(): void {
    this.#tick();
  }

  /** What the schedule says now. */
  schedule(): ScheduleState {
    const offset = (at: Millis) => -new Date(at).getTimezoneOffset();
    return scheduleAt(this.settings.windows, this.#o.now(), offset);
  }

  #exists(gid: string): boolean {
    return this.#records.has(gid) || this.store.get(gid) !== undefined;
  }

  #newGid(): string {
    for (;;) {
      const gid = randomBytes(8).toString('hex');
      if (!this.#exists(gid)) return gid;
    }
  }

  #requeueFinished(record: DownloadRecord): void {
    if (this.#queue.size >= MAX_QUEUE) throw new MillraceError('queue-full');
    const again: DownloadRecord = {
      ...record,
      state: 'queued',
      finishedAt: undefined,
      attempts: 0,
    };
    this.#records.set(record.gid, again);
    this.#queue.add({ ...again, rank: undefined, state: 'queued' });
    this.#syncOrder([record.gid]);
  }

  /** Decides what runs now, and starts it. */
  #tick(): void {
    if (this.#closed) return;
    clearTimeout(this.#timer);
    const now = this.#o.now();
    const { effect, nextChangeAt } = this.schedule();
    const { limit, concurrent, perHost } = this.settings.limits;
    const rate = Math.min(
      limit ?? Number.POSITIVE_INFINITY,
      typeof effect === 'number' ? effect : Number.POSITIVE_INFINITY,
    );
    this.#o.rate.rate = rate === Number.POSITIVE_INFINITY ? undefined : rate;
    const closed = effect === 'pause';
    if (closed) this.#stopForSchedule();
    const { start, nextAt } = this.#queue.plan({ concurrent, perHost, closed }, now);
    for (const gid of start) this.#startRun(gid, now);
    const at = Math.min(
      nextAt ?? Number.POSITIVE_INFINITY,
      nextChangeAt ?? Number.POSITIVE_INFINITY,
    );
    const wait = Math.min(MAX_TIMER_MS, Math.max(0, at - now));
    this.#timer = setTimeout(() => this.#tick(), wait);
  }

  #stopForSchedule(): void {
    for (const { gid } of this.#queue.active) {
      void this.#stopRun(gid);
      this.#queue.requeue(gid);
      this.#update(gid, { state: 'queued' });
    }
  }

  #startRun(gid: string, now: Millis): void {
    const record = this.#records.get(gid) as DownloadRecord;
    const retryAt = this.hosts.restsUntil(record.host, now);
    if (retryAt > now) {
      // The host has asked for a pause (Retry-After): that is no failure of this download.
      this.#queue.postpone(gid, retryAt);
      return this.#update(gid, { state: 'waiting', retryAt });
    }
    this.#update(gid, {
      state: 'active',
      startedAt: record.startedAt ?? now,
      retryAt: undefined,
      error: undefined,
      request: this.#withFreeName(record),
    });
    this.#runner.start(this.#records.get(gid) as DownloadRecord);
    this.#emit({ kind: 'started', gid });
  }

  /** Another unfinished download has the same name: this one takes the next. */
  #withFreeName(record: DownloadRecord): DownloadRecord['request'] {
    const { request, options, gid } = record;
    if (record.path !== undefined || request.overwrite || !options.rename) return request;
    const name = request.file ?? nameFromUrl(request.urls[0] as string);
    const path = join(request.dir, name);
    const taken = (candidate: string) => this.#isTaken(candidate, gid);
    if (!taken(path)) return request;
    return { ...request, file: relative(request.dir, freePath(path, taken)) };
  }

  #isTaken(path: string, by: string): boolean {
    for (const other of this.#records.values()) {
      if (other.gid !== by && other.state !== 'queued' && targetOf(other) === path) return true;
    }
    return false;
  }

  #stopRun(gid: string): Promise<void> {
    this.#noteProgress(gid);
    const stopped = this.#runner.stop(gid);
    this.#chore(stopped);
    return stopped;
  }

  #restart(gid: string): void {
    if (this.#queue.get(gid)?.state !== 'active') return;
    void this.#stopRun(gid);
    this.#queue.requeue(gid);
    this.#update(gid, { state: 'queued' });
    this.#tick();
  }

  #onEvent(gid: string, event: RunEvent): void {
    if (event.kind === 'note') return this.#emit({ kind: 'note', gid, text: event.text });
    if (event.kind === 'start') {
      const record = this.#records.get(gid);
      if (record === undefined) return;
      const { path, length } = event;
      const name = relative(record.request.dir, path);
      this.#update(gid, { path, name, length, storedBytes: event.resumedBytes });
    } else this.#emit({ kind: 'changed', gid });
  }

  #onEnded(gid: string, outcome: Outcome): void {
    const record = this.#records.get(gid);
    if (record === undefined || this.#closed) return;
    if (outcome.kind === 'complete') {
      const { path, bytes, digest, receivedBytes } = outcome.result;
      this.#finish(gid, 'complete', {
        path,
        name: relative(record.request.dir, path),
        length: bytes,
        storedBytes: bytes,
        receivedBytes: record.receivedBytes + receivedBytes,
        digest,
        error: undefined,
      });
      this.#emit({ kind: 'completed', gid });
    } else this.#onFailed(record, outcome);
    this.#tick();
  }

  #onFailed(record: DownloadRecord, outcome: Extract<Outcome, { kind: 'failed' }>): void {
    const { gid, options } = record;
    const { error, progress } = outcome;
    const receivedBytes = record.receivedBytes + (progress?.receivedBytes ?? 0);
    const storedBytes = Math.max(progress?.storedBytes ?? 0, 0) || record.storedBytes;
    if (storedBytes > record.storedBytes) this.#queue.onProgress(gid);
    const shown = { code: error.code, message: error.message, detail: error.detail };
    const kept = { receivedBytes, storedBytes, error: shown };
    const nameTaken = error.code === 'file-exists' || error.code === 'file-in-use';
    if (nameTaken && options.rename && !record.request.overwrite) {
      return this.#renameAndRetry(record, error);
    }
    const attempts = (this.#queue.get(gid)?.attempts ?? 0) + 1;
    const seen = storedBytes > 0;
    const patient = PATIENT.has(error.code) || (seen && PATIENT_ONCE_SEEN.has(error.code));
    const more = patient || options.maxTries === 0 || attempts < options.maxTries;
    if (!error.row.retryable || !more) {
      this.#finish(gid, 'error', kept);
      return this.#emit({ kind: 'failed', gid });
    }
    this.#queue.retry(gid, this.#o.random, this.#o.now(), error.retryAfterMs);
    const item = this.#queue.get(gid);
    this.#update(gid, {
      ...kept,
      state: 'waiting',
      attempts: item?.attempts ?? attempts,
      retryAt: item?.retryAt,
    });
  }

  #renameAndRetry(record: DownloadRecord, error: MillraceError): void {
    const { gid, request } = record;
    try {
      const path = error.code === 'file-exists' && error.detail !== '' ? error.detail : undefined;
      const free = freePath(path ?? targetOf(record), (p) => this.#isTaken(p, gid));
      const file = relative(request.dir, free);
      this.#queue.requeue(gid);
      this.#update(gid, {
        state: 'queued',
        path: undefined,
        name: file,
        request: { ...request, file },
      });
      this.#emit({ kind: 'note', gid, text: `the name is taken: saving as ${file}` });
    } catch {
      const shown = { code: error.code, message: error.message, detail: error.detail };
      this.#finish(gid, 'error', { error: shown });
      this.#emit({ kind: 'failed', gid });
    }
  }

  #finish(gid: string, state: FinishedState, patch: Partial<DownloadRecord>): void {
    const record = this.#records.get(gid) as DownloadRecord;
    this.#queue.remove(gid);
    this.#records.delete(gid);
    this.store.put({
      ...record,
      ...patch,
      state,
      finishedAt: this.#o.now(),
      retryAt: undefined,
    });
    this.#emit({ kind: 'changed', gid });
  }

  #update(gid: string, patch: Partial<DownloadRecord>): void {
    const record = this.#records.get(gid);
    if (record === undefined) return;
    const next = { ...record, ...patch };
    this.#records.set(gid, next);
    this.store.put(next);
    this.#emit({ kind: 'changed', gid });
  }

  /** Writes down priorities and ranks as the queue has them. */
  #syncOrder(gids: readonly string[]): void {
    for (const gid of gids) {
      const record = this.#records.get(gid);
      const item = this.#queue.get(gid);
      if (record === undefined || item === undefined) continue;
      const next = { ...record, priority: item.priority, rank: item.rank };
      this.#records.set(gid, next);
      this.store.put(next);
    }
  }

  #keepProgress(): void {
    const active = this.#queue.active;
    if (active.length === 0) return;
    this.store.atOnce(() => {
      for (const { gid } of active) {
        const progress = this.running(gid)?.progress();
        const record = this.#records.get(gid);
        if (progress === undefined || record === undefined) continue;
        if (progress.storedBytes > record.storedBytes) this.#queue.onProgress(gid);
        const { storedBytes } = progress;
        const next = { ...record, storedBytes, length: progress.length ?? record.length };
        this.#records.set(gid, next);
        this.store.put(next);
      }
    });
  }

  /** What a run has brought, before it is stopped. */
  #noteProgress(gid: string): void {
    const record = this.#records.get(gid);
    const progress = this.running(gid)?.progress();
    if (record === undefined || progress === undefined) return;
    this.#records.set(gid, {
      ...record,
      storedBytes: progress.storedBytes,
      receivedBytes: record.receivedBytes + progress.receivedBytes,
      length: progress.length ?? record.length,
    });
  }

  #chore(work: Promise<void>): void {
    const kept = work
      .catch(() => {
        // A partial file that cannot be deleted is no reason to end the daemon.
      })
      .finally(() => this.#chores.delete(kept));
    this.#chores.add(kept);
  }

  #emit(event: ManagerEvent): void {
    for (const listener of this.#listeners) listener(event);
  }
}

/** The path that a download writes to, as far as that is known. */
function targetOf({ path, request }: DownloadRecord): string {
  return path ?? join(request.dir, request.file ?? nameFromUrl(request.urls[0] as string));
}
