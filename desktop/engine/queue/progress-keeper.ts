/** Records the progress of runs, so that lists show it after a crash. */

import type { Millis } from '@millrace/shared/base/clock';
import type { QueueItem } from '@millrace/shared/download/queue/queue';
import { isStorageError } from '../store/database.ts';
import type { Run } from './contract.ts';
import type { Records } from './records.ts';

const INTERVAL_MS = 5000;

export interface ProgressKeeperOptions {
  readonly records: Records;
  /** The download as it runs; undefined while it does not. */
  readonly running: (gid: string) => Run | undefined;
  /** How long the run under way has taken, milliseconds. */
  readonly activeMs: (gid: string) => Millis;
}

export class ProgressKeeper {
  readonly #options: ProgressKeeperOptions;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ProgressKeeperOptions) {
    this.#options = options;
  }

  /**
   * Notes that a download runs or has unrecorded progress: from now on progress is recorded every
   * few seconds.
   */
  keepOn(): void {
    this.#timer ??= setInterval(() => this.keep(), INTERVAL_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Records the progress of all runs. */
  keep(): void {
    const { records } = this.#options;
    records.saveUnsaved();
    const { active } = records.queue;
    if (active.length === 0) {
      // Nothing is left to do until a download runs again.
      if (!records.behind) this.stop();
      return;
    }
    try {
      records.store.atOnce(() => this.#noteAll(active));
    } catch (error) {
      // The next timer tries again.
      if (!isStorageError(error)) throw error;
    }
  }

  #noteAll(active: readonly QueueItem[]): void {
    const { records, running } = this.#options;
    for (const { gid } of active) {
      const progress = running(gid)?.progress();
      const record = records.find(gid);
      if (progress === undefined || record === undefined) continue;
      const storedBytes = progress.storedBytes || record.storedBytes;
      if (storedBytes > record.storedBytes) records.queue.onProgress(gid);
      records.updateSilently(gid, { storedBytes, length: progress.length ?? record.length });
    }
  }

  /** Records the progress of a run that is about to be stopped. */
  note(gid: string): void {
    const { records, running, activeMs } = this.#options;
    const record = records.find(gid);
    const progress = running(gid)?.progress();
    if (record === undefined || progress === undefined) return;
    records.emit({ kind: 'stand', gid, progress });
    records.updateSilently(gid, {
      storedBytes: progress.storedBytes || record.storedBytes,
      receivedBytes: record.receivedBytes + progress.receivedBytes,
      activeMs: (record.activeMs ?? 0) + activeMs(gid),
      length: progress.length ?? record.length,
    });
  }
}
