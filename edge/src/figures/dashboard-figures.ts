/** Figures of the dashboard besides the status: recent history, and the files in demand. */

import type { Millis } from '@millrace/shared/base/clock';
import type { RefusalReport } from '@millrace/shared/cdn/admission/refusal-log';
import { FigureHistory, type FigureSteps } from '@millrace/shared/cdn/figures/figure-history';
import { RecentCounts } from '@millrace/shared/cdn/figures/recent-counts';
import { type FileHeat, TopFiles } from '@millrace/shared/cdn/figures/top-files';
import { hideSecrets } from '@millrace/shared/http/urls/depot-link';
import type { FileVersion } from '../files/file-version.ts';
import { counterValue, counterValues, type Metrics } from './metrics.ts';

export const STEP_MS: Millis = 5000;
/** Steps of the history: half an hour. */
const STEPS = 360;
/** Steps of the history of a day. */
const DAY_STEP_MS: Millis = 5 * 60_000;
const DAY_STEPS = 288;
/** Most files shown. */
export const SHOWN_FILES = 12;

/** Times that can be chosen: their steps, the one under way included, and when demand is worth half. */
export const RANGES = {
  minutes: { steps: 61, isDay: false, halfLifeMs: 2 * 60_000 },
  usual: { steps: STEPS, isDay: false, halfLifeMs: 10 * 60_000 },
  day: { steps: DAY_STEPS, isDay: true, halfLifeMs: 6 * 3_600_000 },
} as const satisfies Record<string, { steps: number; isDay: boolean; halfLifeMs: Millis }>;
export type RangeName = keyof typeof RANGES;
const RANGE_NAMES = Object.keys(RANGES) as readonly RangeName[];

/** Figures of a chosen time that are no steps. */
export interface InRange {
  readonly files: readonly FileHeat[];
  /** Errors by code. */
  readonly errors: Readonly<Record<string, number>>;
}

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
  'forwards',
  'peerFailures',
] as const;

/** The figures of one process. */
export interface DashboardPart {
  readonly status: Readonly<Record<string, unknown>>;
  readonly history: FigureSteps;
  /** The same in longer steps, for a day. */
  readonly day: FigureSteps;
  readonly ranges: Readonly<Record<RangeName, InRange>>;
  /** Refused clients: only for users who have logged in. */
  readonly refused: RefusalReport['clients'];
}

export class Figures {
  readonly #metrics: Metrics;
  readonly #now: () => Millis;
  readonly #chunkBytes: number;
  readonly #history = new FigureHistory(NAMES, STEP_MS, STEPS);
  readonly #day = new FigureHistory(NAMES, DAY_STEP_MS, DAY_STEPS);
  readonly #errors = new RecentCounts(STEP_MS, STEPS);
  readonly #errorsOfDay = new RecentCounts(DAY_STEP_MS, DAY_STEPS);
  readonly #files: ReadonlyMap<RangeName, TopFiles>;
  #timer: NodeJS.Timeout | undefined;

  /** @param now Unix milliseconds */
  constructor(metrics: Metrics, chunkBytes: number, now: () => Millis) {
    this.#metrics = metrics;
    this.#chunkBytes = chunkBytes;
    this.#now = now;
    this.#files = new Map(
      RANGE_NAMES.map((range) => {
        const { halfLifeMs } = RANGES[range];
        return [range, new TopFiles(now(), undefined, halfLifeMs)];
      }),
    );
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
    const use = { url, length, chunk, chunkBytes: this.#chunkBytes, bytes };
    const now = this.#now();
    for (const files of this.#files.values()) files.record(use, now);
  };

  /** Reads all figures as of now. */
  async read(): Promise<Pick<DashboardPart, 'history' | 'day' | 'ranges'>> {
    await this.#sample();
    const ranges = byRange((range) => {
      const { steps, isDay } = RANGES[range];
      const errors = (isDay ? this.#errorsOfDay : this.#errors).sum(steps);
      return { files: this.#files.get(range)?.top(SHOWN_FILES) ?? [], errors };
    });
    return { history: this.#history.read(), day: this.#day.read(), ranges };
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
      forwards: await counterValue(m.forwards),
      peerFailures: await counterValue(m.peerFailures),
    };
    const byCode = await counterValues(m.errors, 'code');
    const now = this.#now();
    this.#history.record(totals, now);
    this.#day.record(totals, now);
    this.#errors.record(byCode, now);
    this.#errorsOfDay.record(byCode, now);
  }
}

/** Makes figures for each time that can be chosen. */
export function byRange<T>(make: (range: RangeName) => T): Record<RangeName, T> {
  return Object.fromEntries(RANGE_NAMES.map((range) => [range, make(range)])) as Record<
    RangeName,
    T
  >;
}

/** Reads the name of a time; any other text is the usual time. */
export function readRange(text: unknown): RangeName {
  return RANGE_NAMES.find((range) => range === text) ?? 'usual';
}
