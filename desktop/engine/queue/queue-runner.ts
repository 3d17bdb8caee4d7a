/**
 * Carries out the decisions of the queue and the schedule: starts and stops runs, and records how
 * they end.
 */

import { join } from 'node:path';
import type { Millis, Random } from '@millrace/shared/base/clock';
import type { MillraceError } from '@millrace/shared/base/errors';
import { noteOf } from '@millrace/shared/base/notes';
import { choiceFor, stepsOf } from '@millrace/shared/download/after/after';
import { type ScheduleState, scheduleAt } from '@millrace/shared/download/queue/schedule';
import { nameFromUrl } from '@millrace/shared/download/request/file-name';
import type { DownloadRequest } from '@millrace/shared/download/request/request';
import { isStale, onExpired } from '@millrace/shared/download/resolve/resolved';
import { atFreePath } from '../files/file-choice.ts';
import type { Settings } from '../settings/settings.ts';
import type { DownloadRecord } from '../store/record.ts';
import { afterFailure } from './after-failure.ts';
import type { DownloadFactory, Left, Run, RunEvent, RunResult } from './contract.ts';
import type { HostMemory } from './host-memory.ts';
import { NetworkReturn } from './network-return.ts';
import { ProgressKeeper } from './progress-keeper.ts';
import { completedBy, placeOf, type Records, requestToRun, targetOf } from './records.ts';
import { type Outcome, type RunnerOptions, Runs } from './runs.ts';
import type { SharedRate } from './shared-rate.ts';

export interface QueueRunnerOptions extends Pick<RunnerOptions, 'house' | 'judge'> {
  readonly records: Records;
  readonly settings: Settings;
  readonly hosts: HostMemory;
  readonly rate: SharedRate;
  readonly createDownload: DownloadFactory;
  /** Finds links anew that have expired; without it they stay expired. */
  readonly renew?: (record: DownloadRecord, signal: AbortSignal) => Promise<boolean>;
  /** Unix milliseconds. */
  readonly now: () => Millis;
  readonly random: Random;
  /** See `NetworkReturnOptions`; without it only time ends a wait. */
  readonly networkChange?: (signal: AbortSignal) => Promise<boolean>;
}

/** Longest wait for a deadline, in milliseconds: the clock may be set, and machines sleep. */
const MAX_TIMER_MS = 60_000;

export class QueueRunner {
  readonly #options: QueueRunnerOptions;
  readonly #records: Records;
  readonly #runs: Runs;
  readonly #network: NetworkReturn;
  readonly #keeper: ProgressKeeper;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;
  #holds = 0;
  /** The schedule's last effect. */
  #effect: ScheduleState['effect'] | undefined;

  constructor(options: QueueRunnerOptions) {
    this.#options = options;
    this.#records = options.records;
    this.#runs = new Runs({
      ...options,
      hostLimits: options.hosts,
      renew: (gid, signal) => this.#renewed(gid, signal),
      onEvent: (gid, event) => this.#onEvent(gid, event),
      onStand: (gid, progress) => this.#records.emit({ kind: 'stand', gid, progress }),
      onEnded: (gid, outcome) => this.#onEnded(gid, outcome),
    });
    this.#keeper = new ProgressKeeper({
      records: options.records,
      running: (gid) => this.#runs.get(gid),
      activeMs: (gid) => this.#runs.activeMs(gid),
    });
    this.#network = new NetworkReturn({
      records: options.records,
      networkChange: options.networkChange ?? (() => Promise.resolve(false)),
      tick: () => this.tick(),
    });
  }

  start(): void {
    this.#network.look();
    this.tick();
  }

  /** Interrupts running downloads; they continue at the next start. */
  async close(): Promise<void> {
    this.#keeper.keep();
    this.#closed = true;
    this.#network.close();
    clearTimeout(this.#timer);
    this.#keeper.stop();
    await this.#runs.stopAll();
    this.#records.saveUnsaved();
  }

  /** Returns the run of a download; undefined while the download does not run. */
  running(gid: string): Run | undefined {
    return this.#runs.get(gid);
  }

  /** Resolves when the run of a download that was just started is available, or has ended. */
  begun(gid: string): Promise<void> {
    return this.#runs.begun(gid);
  }

  /** Resolves when an ended run has released its file. */
  settled(gid: string): Promise<void> {
    return this.#runs.settled(gid);
  }

  /** Returns the future result of the current run. */
  finished(gid: string): Promise<RunResult> | undefined {
    return this.#runs.finished(gid);
  }

  /** Returns the schedule's current effect. */
  schedule(): ScheduleState {
    const offset = (at: Millis) => -new Date(at).getTimezoneOffset();
    return scheduleAt(this.#options.settings.windows, this.#options.now(), offset);
  }

  /** Decides which downloads run now, and starts them. Call it after every relevant change. */
  tick(): void {
    if (this.#closed || this.#holds > 0) return;
    if (this.#records.behind) this.#keeper.keepOn();
    clearTimeout(this.#timer);
    const now = this.#options.now();
    const { effect, nextChangeAt } = this.schedule();
    const { limit, concurrent, perHost } = this.#options.settings.limits;
    const none = Number.POSITIVE_INFINITY;
    const rate = Math.min(limit ?? none, typeof effect === 'number' ? effect : none);
    this.#options.rate.rate = rate === none ? undefined : rate;
    if (this.#effect !== undefined && this.#effect !== effect) {
      this.#records.emit({ kind: 'settings' });
    }
    this.#effect = effect;
    const closed = effect === 'pause';
    if (closed) this.#stopForSchedule();
    const plan = this.#records.queue.plan({ concurrent, perHost, closed }, now);
    let again = false;
    for (const gid of plan.start) again = !this.#startRun(gid, now) || again;
    // A download that did not start frees its place for another one.
    if (again) return this.tick();
    const at = Math.min(plan.nextAt ?? none, nextChangeAt ?? none);
    const wait = Math.min(MAX_TIMER_MS, Math.max(0, at - now));
    this.#timer = setTimeout(() => this.tick(), wait);
  }

  /** Runs `work` and decides once after it, instead of many times during it. */
  hold<T>(work: () => T): T {
    this.#holds++;
    try {
      return work();
    } finally {
      this.#holds--;
      this.tick();
    }
  }

  /** Runs `work` to its end, and decides once after it. Downloads that run go on meanwhile. */
  holdWhile<T>(work: () => Promise<T>): Promise<T> {
    this.#holds++;
    return work().finally(() => this.hold(() => this.#holds--));
  }

  /**
   * Stops a run, if there is one, and runs `work` before another run can start.
   *
   * @param work gets the remains of the run
   */
  stopAnd(gid: string, work: (left: Left) => Promise<void>): Promise<void> {
    return this.#runs.stopAnd(gid, work);
  }

  /**
   * Stops a run, if there is one, and keeps its bytes.
   *
   * @returns the remains of the run, once it has ended
   */
  async stop(gid: string): Promise<Left> {
    this.#keeper.note(gid);
    const left = await this.#runs.stop(gid);
    // The run may have been stopped before it could report its path.
    if (left.path !== undefined) this.#notePath(gid, left.path);
    return left;
  }

  /** Restarts a running download so that its changed settings apply. */
  restart(gid: string): void {
    if (this.#records.queue.get(gid)?.state !== 'active') return;
    void this.stop(gid);
    this.#records.queue.requeue(gid);
    this.#records.update(gid, { state: 'queued' });
    this.tick();
  }

  #stopForSchedule(): void {
    for (const { gid } of this.#records.queue.active) {
      void this.stop(gid);
      this.#records.queue.requeue(gid);
      this.#records.update(gid, { state: 'queued' });
    }
  }

  /** @returns false if the host asked not to be contacted yet */
  #startRun(gid: string, now: Millis): boolean {
    const record = this.#records.find(gid) as DownloadRecord;
    const retryAt = this.#options.hosts.restsUntil(record.host, now);
    if (retryAt > now) {
      // The wait comes from Retry-After, so it is no failure of this download.
      this.#records.queue.postpone(gid, retryAt);
      this.#records.update(gid, { state: 'waiting', retryAt });
      return false;
    }
    this.#records.update(gid, {
      state: 'active',
      startedAt: record.startedAt ?? now,
      retryAt: undefined,
      error: undefined,
      request: this.#withFreeName(record),
    });
    const begun = this.#records.find(gid) as DownloadRecord;
    const moved = begun.path !== undefined && begun.path !== targetOf(begun);
    this.#keeper.keepOn();
    this.#runs.start(gid, requestToRun(begun), moved ? begun.path : undefined);
    this.#records.emit({ kind: 'started', gid });
    return true;
  }

  /** Picks the next free name if another unfinished download has the same name. */
  #withFreeName(record: DownloadRecord): DownloadRecord['request'] {
    const { request, options, gid } = record;
    if (record.path !== undefined || request.overwrite || !options.rename) return request;
    const path = join(request.dir, request.file ?? nameFromUrl(request.urls[0] as string));
    const taken = (candidate: string) => this.#records.isTaken(candidate, gid);
    if (!taken(path)) return request;
    return atFreePath(record, path, taken);
  }

  #notePath(gid: string, path: string): void {
    const record = this.#records.find(gid);
    if (record?.path === undefined && record !== undefined) {
      this.#records.update(gid, placeOf(record, path));
    }
  }

  #onEvent(gid: string, event: RunEvent): void {
    if (event.kind === 'note') return this.#records.emit({ ...event, gid });
    const record = this.#records.find(gid);
    if (record === undefined) return;
    if (event.kind !== 'start') return this.#records.emit({ kind: 'changed', gid });
    const { path, length, resumedBytes } = event;
    this.#records.update(gid, { ...placeOf(record, path), length, storedBytes: resumedBytes });
  }

  /** @returns false if the next start has to find out how the run ended */
  #onEnded(gid: string, outcome: Outcome): boolean {
    if (this.#closed) return false;
    const record = this.#records.find(gid);
    if (record === undefined) return true;
    if (outcome.kind === 'complete') this.#onComplete(record, outcome);
    else this.#onFailed(record, outcome);
    this.tick();
    return true;
  }

  #onComplete(record: DownloadRecord, outcome: Extract<Outcome, { kind: 'complete' }>): void {
    const { gid } = record;
    const { settings, now } = this.#options;
    const { verdict, result } = outcome;
    const changes: Partial<DownloadRecord> = {
      ...completedBy(record, result),
      activeMs: (record.activeMs ?? 0) + outcome.activeMs,
      // Stored together with the completion, so that a crash between both loses no action. Actions that
      // have begun before a repair are not carried out again.
      after:
        record.after ??
        stepsOf(choiceFor(record.options.after, record.category, settings.after.rules)),
    };
    if (verdict?.isComplete === false) return verdict.record({ ...record, ...changes });
    this.#records.finish(gid, 'complete', now(), changes);
    verdict?.record({ ...record, ...changes });
    this.#records.emit({ kind: 'completed', gid });
  }

  #onFailed(before: DownloadRecord, outcome: Extract<Outcome, { kind: 'failed' }>): void {
    const { gid } = before;
    const { error, progress } = outcome;
    const { queue } = this.#records;
    if ((progress?.storedBytes ?? 0) > before.storedBytes) queue.onProgress(gid);
    if (progress?.path !== undefined) this.#notePath(gid, progress.path);
    this.#records.updateSilently(gid, {
      storedBytes: progress?.storedBytes || before.storedBytes,
      receivedBytes: before.receivedBytes + (progress?.receivedBytes ?? 0),
      activeMs: (before.activeMs ?? 0) + outcome.activeMs,
      error: {
        ...{ code: error.code, message: error.message, detail: error.detail },
        ...(error.particulars === undefined ? {} : { particulars: error.particulars }),
        ...(error.onePiece ? { onePiece: true } : {}),
      },
    });
    const record = this.#records.find(gid) as DownloadRecord;
    const failures = (queue.get(gid)?.attempts ?? 0) + 1;
    const next = afterFailure(record, error, failures);
    if (next === 'rename' && this.#rename(record, error)) return;
    if (next === 'give-up' && this.#resolveAgain(record, error)) return;
    if (next !== 'retry') return this.#giveUp(gid);
    queue.retry(gid, this.#options.random, this.#options.now(), error.retryAfterMs);
    const retryAt = queue.get(gid)?.retryAt;
    this.#records.update(gid, { state: 'waiting', attempts: failures, retryAt });
    this.#network.look();
  }

  /** Begins again with the resolver if links have expired that it had found. @returns false if not */
  #resolveAgain({ gid, options, storedBytes }: DownloadRecord, error: MillraceError): boolean {
    const { resolved: before } = options;
    if (before === undefined || error.row.file !== 'gone') return false;
    const { again, resolved } = onExpired(before, storedBytes);
    this.#records.update(gid, { options: { ...options, resolved } });
    if (!again) return false;
    this.#records.queue.requeue(gid);
    this.#records.update(gid, { state: 'queued', error: undefined });
    this.#records.emit({ kind: 'note', gid, ...noteOf('resolves-again', { name: before.by }) });
    return true;
  }

  /** Lets the resolver find the links of a download anew, if they have expired. */
  async #renewed(gid: string, signal: AbortSignal): Promise<DownloadRequest | undefined> {
    const { renew, now } = this.#options;
    const record = this.#records.find(gid);
    const { resolved } = record?.options ?? {};
    if (!record || !resolved || !isStale(resolved, now())) return undefined;
    if ((await renew?.(record, signal)) !== true) return undefined;
    return requestToRun(this.#records.get(gid));
  }

  #giveUp(gid: string): void {
    this.#records.finish(gid, 'error', this.#options.now(), {});
    this.#records.emit({ kind: 'failed', gid });
  }

  /** @returns false if no free name is left */
  #rename(record: DownloadRecord, error: MillraceError): boolean {
    const { gid } = record;
    try {
      const named = error.code === 'file-exists' && error.detail !== '' ? error.detail : undefined;
      const taken = (path: string) => this.#records.isTaken(path, gid);
      const request = atFreePath(record, named ?? targetOf(record), taken);
      const name = request.file as string;
      this.#records.queue.requeue(gid);
      // The partial file moves to the new name as well.
      this.#records.update(gid, { state: 'queued', name, error: undefined, request });
      this.#records.emit({ kind: 'note', gid, ...noteOf('name-taken', { name }) });
      return true;
    } catch {
      return false;
    }
  }
}
