/**
 * Remembers how downloads went: a log, speed over time, and the state of the last run. Logs of
 * downloads that were viewed or ran lately are in memory; each run that ends is written to the
 * database.
 */

import type { Millis } from '@millrace/shared/base/clock';
import type { LogEntry } from '@millrace/shared/bridge/rpc/detail-api';
import { SpeedRing, STEP_MS } from '@millrace/shared/download/figures/speed-ring';
import type { Manager } from '../downloads/manager.ts';
import type { RunProgress } from '../queue/contract.ts';
import type { ManagerEvent } from '../queue/records.ts';
import type { DetailStore } from '../store/detail-store.ts';
import type { DownloadRecord, RecordState } from '../store/record.ts';
import { DownloadLog, KEPT_CELLS, lookAt } from './download-log.ts';

export interface DownloadLogsOptions {
  readonly manager: Manager;
  readonly store: DetailStore;
  /** Unix milliseconds. */
  readonly now: () => Millis;
  /** Monotonic milliseconds. */
  readonly clock: () => Millis;
}

/** Most logs in memory; those of running downloads always stay. */
const MAX_LOGS = 500;
/** Samples between writes of running downloads to the database, the most that a crash can lose. */
const KEEP_EVERY = 30;

const OVER: ReadonlySet<LogEntry['event'] | undefined> = new Set([
  'removed',
  'failed',
  'complete',
] as const);

/** State of a download at its last change. */
interface Seen {
  state: RecordState;
  phase: string | undefined;
}

export class DownloadLogs {
  readonly #options: DownloadLogsOptions;
  readonly #logs = new Map<string, DownloadLog>();
  readonly #seen = new Map<string, Seen>();
  readonly #speed = new SpeedRing();
  /** Bytes received up to the last sample, by gid. */
  readonly #received = new Map<string, number>();
  readonly #stopListening: () => void;
  #timer: NodeJS.Timeout | undefined;
  #sampledAt: Millis = 0;
  #samples = 0;

  constructor(options: DownloadLogsOptions) {
    this.#options = options;
    this.#stopListening = options.manager.listen((event) => this.#onEvent(event));
  }

  /** Speed over all downloads. */
  get speed(): SpeedRing {
    return this.#speed;
  }

  downloadLog(gid: string): DownloadLog {
    const { store } = this.#options;
    const present = this.#logs.get(gid);
    const downloadLog =
      present ?? new DownloadLog(store.get(gid), (why) => store.isDamaged(gid, why));
    // Move the log to the end, so that the log used least recently is forgotten first.
    this.#logs.delete(gid);
    this.#logs.set(gid, downloadLog);
    if (this.#logs.size > MAX_LOGS) this.#forgetOldest();
    const createdAt =
      downloadLog.log.length > 0 ? undefined : this.#options.manager.find(gid)?.createdAt;
    if (createdAt !== undefined) downloadLog.note({ at: createdAt, event: 'added' });
    return downloadLog;
  }

  /** Stores the logs of running downloads. */
  close(): void {
    this.#stopListening();
    clearInterval(this.#timer);
    this.#keepActive();
  }

  #onEvent(event: ManagerEvent): void {
    if (event.kind === 'forgotten') {
      for (const gid of event.gids) {
        this.#logs.delete(gid);
        this.#seen.delete(gid);
      }
      return;
    }
    if (event.kind === 'settings' || event.kind === 'trash') return;
    const { gid } = event;
    if (event.kind === 'stand') return this.#noteRun(gid, event.progress);
    if (event.kind === 'note') {
      const { text, note, values } = event;
      this.#note(gid, { event: 'note', text, note, values });
      // Of a download that does not run, no end of a run stores the log.
      const record = this.#options.manager.find(gid);
      const hasRun = record === undefined || record.startedAt !== undefined;
      if (hasRun && record?.state !== 'active') this.#keep(gid);
      return;
    }
    if (event.kind === 'changed') return this.#onChanged(gid);
    if (event.kind === 'started') {
      this.#note(gid, { event: 'started' });
      this.#startSampling();
    } else {
      const names = { paused: 'paused', stopped: 'removed', completed: 'complete' } as const;
      if (event.kind === 'failed') {
        this.#note(gid, { event: 'failed', ...this.#errorOf(gid) });
      } else this.#note(gid, { event: names[event.kind] });
      this.#keep(gid);
    }
  }

  #onChanged(gid: string): void {
    const { manager } = this.#options;
    const record = manager.find(gid);
    if (record === undefined) return;
    const before = this.#seen.get(gid);
    const phase = record.state === 'active' ? manager.running(gid)?.progress().state : undefined;
    this.#seen.set(gid, { state: record.state, phase });
    if (before?.state !== record.state) this.#onState(record, before?.state);
    else if (phase !== undefined && phase !== before.phase) {
      this.#note(gid, { event: 'phase', text: phase });
    }
  }

  #onState(record: DownloadRecord, before: RecordState | undefined): void {
    const { gid, state, retryAt, error, startedAt } = record;
    // The download has not started yet, so its log is made on request.
    if (before === undefined && startedAt === undefined) return;
    if (before === 'active') this.#keep(gid);
    if (before === undefined && OVER.has(this.downloadLog(gid).log.at(-1)?.event)) {
      this.#note(gid, { event: 'restored' });
    } else if (state === 'waiting') {
      this.#note(gid, { event: 'retry', retryAt, text: error?.message, code: error?.code });
    } else if (before === 'paused' && state === 'queued') this.#note(gid, { event: 'resumed' });
  }

  #note(gid: string, entry: Omit<LogEntry, 'seq' | 'at'>): void {
    this.downloadLog(gid).note({ at: this.#options.now(), ...entry });
  }

  #errorOf(gid: string): Pick<LogEntry, 'text' | 'code'> {
    try {
      const { error } = this.#options.manager.get(gid);
      return error === undefined ? {} : { text: error.message, code: error.code };
    } catch {
      return {}; // forgotten already
    }
  }

  #keep(gid: string): void {
    this.#received.delete(gid);
    if (this.#options.manager.find(gid) === undefined) this.#seen.delete(gid);
    this.#options.store.put(gid, this.downloadLog(gid).toKeep());
  }

  #keepActive(): void {
    const { manager, store } = this.#options;
    manager.store.atOnce(() => {
      for (const { gid } of manager.queue.active) {
        const progress = manager.running(gid)?.progress();
        if (progress !== undefined) this.#noteRun(gid, progress);
        store.put(gid, this.downloadLog(gid).toKeep());
      }
    });
  }

  /** Records the state of a run, which stands as the last run until the next one. */
  #noteRun(gid: string, progress: RunProgress): void {
    const last = lookAt(progress, KEPT_CELLS);
    const downloadLog = this.downloadLog(gid);
    // Until it has asked a source, a run knows less than the run before.
    if (last.sources.length === 0) return;
    // A run that has not opened the partial file knows nothing about the stored bytes.
    const { stored, by } = progress.path === undefined ? (downloadLog.last ?? last) : last;
    downloadLog.last = { ...last, stored, by };
  }

  #startSampling(): void {
    if (this.#timer !== undefined) return;
    this.#sampledAt = this.#options.clock();
    this.#timer = setInterval(() => this.#sample(), STEP_MS);
  }

  /** Adds a sample for each running download, and stops when none runs. */
  #sample(): void {
    const { manager, clock, now } = this.#options;
    const { active } = manager.queue;
    const seconds = Math.max(0.001, (clock() - this.#sampledAt) / 1000);
    this.#sampledAt = clock();
    this.#samples++;
    let sum = 0;
    for (const { gid } of active) {
      const received = manager.running(gid)?.progress().receivedBytes ?? 0;
      const before = this.#received.get(gid) ?? 0;
      this.#received.set(gid, received);
      // A run that restarted counts from zero.
      const rate = (received < before ? received : received - before) / seconds;
      sum += rate;
      this.downloadLog(gid).speed.add(rate, now());
    }
    this.#speed.add(sum, now());
    if (this.#samples % KEEP_EVERY === 0) this.#keepActive();
    if (active.length > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#received.clear();
  }

  #forgetOldest(): void {
    for (const gid of this.#logs.keys()) {
      if (this.#options.manager.queue.get(gid)?.state === 'active') continue;
      this.#logs.delete(gid);
      return;
    }
  }
}
