/** Figures of the dashboard besides the status: recent history, and the files in demand. */

import type { Millis } from '@millrace/shared/base/clock';
import type { RefusalReport } from '@millrace/shared/cdn/admission/refusal-log';
import { FigureHistory, type FigureSteps } from '@millrace/shared/cdn/figures/figure-history';
import { type FileHeat, TopFiles } from '@millrace/shared/cdn/figures/top-files';
import { hideSecrets } from '@millrace/shared/http/urls/depot-link';
import type { FileVersion } from '../files/file-version.ts';
import { counterValue, type Metrics } from './metrics.ts';

export const STEP_MS: Millis = 5000;
/** Steps of the history: half an hour. */
const STEPS = 360;
/** Steps of the history of a day. */
const DAY_STEP_MS: Millis = 5 * 60_000;
const DAY_STEPS = 288;
/** Most files shown. */
export const SHOWN_FILES = 12;

const NAMES = [
  'toClients',
  'fromOrigins',
  'fromPeers',
  'memory',
  'disk',
  'peer',
  'source',
  'retried',
  'windowSum',
  'windowCount',
  'purged',
  'offloaded',
  'requests',
  'errors',
] as const;

/** The figures of one process. */
export interface DashboardPart {
  readonly status: Readonly<Record<string, unknown>>;
  readonly history: FigureSteps;
  /** The same in longer steps, for a day. */
  readonly day: FigureSteps;
  readonly files: readonly FileHeat[];
  /** Refused clients: only for users who have logged in. */
  readonly refused: RefusalReport['clients'];
}

export class Figures {
  readonly #metrics: Metrics;
  readonly #now: () => Millis;
  readonly #chunkBytes: number;
  readonly #history = new FigureHistory(NAMES, STEP_MS, STEPS);
  readonly #day = new FigureHistory(NAMES, DAY_STEP_MS, DAY_STEPS);
  readonly #files: TopFiles;
  #timer: NodeJS.Timeout | undefined;

  /** @param now Unix milliseconds */
  constructor(metrics: Metrics, chunkBytes: number, now: () => Millis) {
    this.#metrics = metrics;
    this.#chunkBytes = chunkBytes;
    this.#now = now;
    this.#files = new TopFiles(now());
  }

  /** Begins to take samples. */
  start(): void {
    const sample = () => void this.#sample();
    sample();
    this.#timer = setInterval(sample, STEP_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Counts a delivered chunk, but none of files that are not public. */
  readonly onChunk = (version: FileVersion, chunk: number, bytes: number): void => {
    if (version.scope !== 'public') return;
    const { length } = version;
    const url = hideSecrets(version.url);
    this.#files.record({ url, length, chunk, chunkBytes: this.#chunkBytes, bytes }, this.#now());
  };

  /** Reads all figures as of now. */
  async read(): Promise<Pick<DashboardPart, 'history' | 'day' | 'files'>> {
    await this.#sample();
    const files = this.#files.top(SHOWN_FILES);
    return { history: this.#history.read(), day: this.#day.read(), files };
  }

  async #sample(): Promise<void> {
    const m = this.#metrics;
    const window = await m.windowTotals();
    const totals = {
      toClients: await counterValue(m.clientBytes),
      fromOrigins: await counterValue(m.originBytes),
      fromPeers: await counterValue(m.peerBytes),
      memory: await counterValue(m.chunks, { tier: 'memory' }),
      disk: await counterValue(m.chunks, { tier: 'disk' }),
      peer: await counterValue(m.chunks, { tier: 'peer' }),
      source: await counterValue(m.chunks, { tier: 'source' }),
      retried: await counterValue(m.retries),
      windowSum: window.sum,
      windowCount: window.count,
      purged: await counterValue(m.reaped),
      offloaded: await counterValue(m.offloads),
      requests: await counterValue(m.requests),
      errors: await counterValue(m.errors),
    };
    this.#history.record(totals, this.#now());
    this.#day.record(totals, this.#now());
  }
}
