/**
 * Carries out the actions after downloads. Each step is stored before it begins and after it has ended,
 * so that no command runs twice, whatever ends the daemon in between.
 */

import { dirname, relative } from 'node:path';
import type { Millis, Random } from '@millrace/shared/base/clock';
import { said } from '@millrace/shared/base/error-table/particulars';
import {
  type AfterStep,
  afterRestart,
  isOpen,
  nextStep,
  webhookRetryAt,
  withStep,
} from '@millrace/shared/download/after/after';
import type { Records } from '../queue/records.ts';
import type { Settings } from '../settings/settings.ts';
import type { DownloadRecord } from '../store/record.ts';
import type { ActionContext, ActionResult } from './actions.ts';

export interface AfterRunnerOptions {
  readonly records: Records;
  readonly settings: Settings;
  /** Resolves when the run of a complete download has released its file. */
  readonly settled: (gid: string) => Promise<void>;
  /** Returns the download folder. */
  readonly dir: () => string;
  /** Unix milliseconds. */
  readonly now: () => Millis;
  readonly random: Random;
  /** Carries out a step; default: on this machine. */
  readonly carryOut?: (step: AfterStep, context: ActionContext) => Promise<ActionResult>;
  /** Deletes what an interrupted extraction has left; default: on this machine. */
  readonly cleanUp?: (record: DownloadRecord) => Promise<void>;
}

/** Downloads whose actions are carried out at a time. */
const AT_ONCE = 2;
/** Longest wait for a retry, in milliseconds: the clock may be set, and machines sleep. */
const MAX_TIMER_MS = 60_000;

export class AfterRunner {
  readonly #options: AfterRunnerOptions;
  readonly #line: string[] = [];
  readonly #running = new Map<string, { readonly abort: AbortController; ended: Promise<void> }>();
  /** Downloads whose webhook is sent again later, with the time. */
  readonly #later = new Map<string, Millis>();
  /** Downloads whose actions wait because their file is about to change. */
  readonly #resting = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: AfterRunnerOptions) {
    this.#options = options;
    options.records.listen((event) => {
      if (event.kind === 'completed') this.#take(event.gid);
      else if (event.kind === 'forgotten') for (const gid of event.gids) this.#leave(gid);
    });
  }

  /** True while an action is carried out or is to be; waits for a webhook's next attempt do not count. */
  get busy(): boolean {
    return this.#running.size > 0 || this.#line.length > 0;
  }

  /** Continues what the last daemon has left. Steps that it began are repeated, or marked as interrupted. */
  start(): void {
    const { records } = this.#options;
    for (const record of records.store.afterOpen()) {
      const steps = afterRestart(record.after ?? []);
      const ended = steps.some((step) => step.action === 'extract' && step.state === 'interrupted');
      if (ended) void this.#cleanUp(record).catch(() => {});
      records.changeFinished(record, { after: steps });
      this.#take(record.gid);
    }
  }

  /**
   * Lets no further action of some downloads begin.
   *
   * @returns a function that lets them begin again, once the actions under way have ended
   */
  async rest(gids: readonly string[]): Promise<() => void> {
    for (const gid of gids) this.#resting.add(gid);
    await Promise.all(gids.map((gid) => this.#running.get(gid)?.ended));
    return () => {
      for (const gid of gids) this.#resting.delete(gid);
      for (const gid of gids) this.#take(gid);
    };
  }

  /** Ends the actions under way; the next start finds them unfinished. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    const all = [...this.#running.values()];
    for (const { abort } of all) abort.abort();
    await Promise.all(all.map(({ ended }) => ended));
  }

  #take(gid: string): void {
    if (this.#closed || this.#resting.has(gid) || !isOpen(this.#stepsOf(gid))) return;
    if (!this.#line.includes(gid) && !this.#running.has(gid)) this.#line.push(gid);
    this.#next();
  }

  #leave(gid: string): void {
    this.#later.delete(gid);
    const at = this.#line.indexOf(gid);
    if (at >= 0) this.#line.splice(at, 1);
    this.#running.get(gid)?.abort.abort();
  }

  #next(): void {
    while (!this.#closed && this.#running.size < AT_ONCE) {
      const gid = this.#line.shift();
      if (gid === undefined) return;
      const abort = new AbortController();
      const own = { abort, ended: Promise.resolve() };
      this.#running.set(gid, own);
      own.ended = this.#work(gid, abort.signal)
        .catch(() => {
          // The download was removed, or the daemon ends: its steps stay as they are stored.
        })
        .finally(() => {
          this.#running.delete(gid);
          this.#options.records.emit({ kind: 'changed', gid });
          this.#next();
        });
    }
  }

  async #work(gid: string, signal: AbortSignal): Promise<void> {
    const { settings, dir, now, random } = this.#options;
    await this.#options.settled(gid);
    const carryOut = this.#options.carryOut ?? (await import('./actions.ts')).carryOut;
    for (;;) {
      signal.throwIfAborted();
      if (this.#resting.has(gid)) return;
      const record = this.#find(gid);
      const next = record && nextStep(record.after ?? [], now());
      if (record === undefined || next === undefined) return;
      if (next.kind === 'wait') return this.#wait(gid, next.until);
      const { index } = next;
      if (next.kind === 'skip') {
        this.#keep(gid, index, { state: 'skipped', ...said({ code: 'earlier-failed' }) });
        continue;
      }
      this.#keep(gid, index, { state: 'running', retryAt: undefined });
      const step = this.#stepsOf(gid)?.[index] as AfterStep;
      const context = { settings: settings.after, dir: dir(), now: now(), signal };
      const result = await carryOut(step, {
        ...context,
        record: this.#find(gid) as DownloadRecord,
      });
      if (signal.aborted) return;
      const { state, path, ...why } = result;
      if (state !== 'again') this.#keep(gid, index, { state, ...why }, path);
      else {
        const attempts = (step.attempts ?? 0) + 1;
        const retryAt = webhookRetryAt(attempts, now(), random);
        const then = retryAt === undefined ? 'failed' : 'waiting';
        this.#keep(gid, index, { state: then, ...why, attempts, retryAt });
      }
    }
  }

  #wait(gid: string, until: Millis): void {
    this.#later.set(gid, until);
    this.#setTimer();
  }

  /** Takes downloads whose wait is over; also called when the clock of a test has moved on. */
  look(): void {
    const now = this.#options.now();
    for (const [gid, until] of this.#later) {
      if (until > now) continue;
      this.#later.delete(gid);
      this.#take(gid);
    }
    this.#setTimer();
  }

  #setTimer(): void {
    clearTimeout(this.#timer);
    if (this.#later.size === 0 || this.#closed) return;
    const wait = Math.min(...this.#later.values()) - this.#options.now();
    this.#timer = setTimeout(() => this.look(), Math.min(MAX_TIMER_MS, Math.max(0, wait)));
  }

  #keep(gid: string, index: number, change: Partial<AfterStep>, path?: string): void {
    const record = this.#find(gid);
    if (record === undefined) return;
    const moved = path === undefined ? {} : placeOf(record, path);
    const after = withStep(record.after ?? [], index, change);
    this.#options.records.changeFinished(record, { after, ...moved });
  }

  /** Returns the record of a complete download. */
  #find(gid: string): DownloadRecord | undefined {
    const { records } = this.#options;
    if (!records.exists(gid)) return undefined;
    const record = records.get(gid);
    return record.state === 'complete' ? record : undefined;
  }

  #stepsOf(gid: string): readonly AfterStep[] | undefined {
    return this.#find(gid)?.after;
  }

  async #cleanUp(record: DownloadRecord): Promise<void> {
    if (this.#options.cleanUp !== undefined) return this.#options.cleanUp(record);
    const { path, gid } = record;
    if (path !== undefined) await (await import('./extract.ts')).removeStage(path, gid);
  }
}

/** Returns the changes to a record whose file has moved. */
function placeOf({ request }: DownloadRecord, path: string): Partial<DownloadRecord> {
  const dir = dirname(path);
  const name = relative(dir, path);
  return { path, name, request: { ...request, dir, file: name, within: undefined } };
}
