/**
 * The prefetches of a node. They begin in order, a few run at a time, and those that are unfinished
 * when the edge ends resume in its next run.
 */

import { randomBytes } from 'node:crypto';
import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import type { Log } from '@millrace/shared/base/log';
import type { ChunkStore } from '../agent/chunk-store.ts';
import type { FileResolver } from '../agent/file-resolver.ts';
import { PrefetchBeat, type PrefetchBeatOptions } from './prefetch-beat.ts';
import type { KeptPrefetch, PrefetchList } from './prefetch-list.ts';
import { type PrefetchOrder, PrefetchRun, type PrefetchStand } from './prefetch-run.ts';

/** Most prefetches that run at a time; further ones wait. */
const MAX_RUNNING = 2;
const MAX_WAITING = 1000;
/** Most finished prefetches that can still be looked at. */
const MAX_OVER = 200;

export type PrefetchState = 'waiting' | 'running' | 'done' | 'failed' | 'stopped';

/** A prefetch as administrators see it. */
export interface PrefetchView extends PrefetchStand {
  readonly id: string;
  readonly url: string;
  readonly state: PrefetchState;
  /** Unix milliseconds. */
  readonly askedAt: Millis;
  readonly endedAt?: Millis;
  /** SHA-256 of the whole file, if it was compared with one that was asked for or stated. */
  readonly sha256?: string;
  /** True if it resumes after a restart of the edge. */
  readonly outlivesRestart: boolean;
  /** Why it failed. */
  readonly code?: string;
  readonly detail?: string;
}

export interface PrefetcherOptions extends PrefetchBeatOptions {
  readonly resolver: FileResolver;
  readonly chunks: ChunkStore;
  readonly chunkBytes: number;
  readonly log: Log;
  /** Unix milliseconds. */
  readonly wallClock: () => Millis;
  readonly onBytes: (bytes: number) => void;
  readonly onEnded: (state: PrefetchState) => void;
  /** Keeps unfinished prefetches for the next run; undefined without a disk tier. */
  readonly list: PrefetchList | undefined;
  /** Unfinished prefetches of an earlier run. */
  readonly left: readonly KeptPrefetch[];
  /** @throws MillraceError if an origin may no longer be asked */
  readonly check: (url: URL) => void;
}

interface Job {
  readonly id: string;
  readonly order: PrefetchOrder;
  readonly askedAt: Millis;
  readonly run: PrefetchRun;
  state: PrefetchState;
  endedAt?: Millis;
  sha256?: string;
  error?: MillraceError;
}

export class Prefetcher {
  readonly #options: PrefetcherOptions;
  readonly #jobs = new Map<string, Job>();
  readonly #beat: PrefetchBeat;
  #begun = false;
  #closed = false;

  constructor(options: PrefetcherOptions) {
    this.#options = options;
    this.#beat = new PrefetchBeat(options);
    this.#takeUp(options.left);
  }

  /** Prefetches that wait or run. */
  get active(): number {
    return this.#in('waiting').length + this.#in('running').length;
  }

  /**
   * Begins a prefetch, or queues it. Resolves when it is written down for the next run of the edge.
   *
   * @throws MillraceError `queue-full`
   */
  async start(order: PrefetchOrder): Promise<PrefetchView> {
    if (this.#in('waiting').length >= MAX_WAITING) {
      throw new MillraceError('queue-full', `${MAX_WAITING} prefetches wait already`);
    }
    const job = this.#add(randomBytes(8).toString('hex'), order, this.#options.wallClock());
    await this.#keep();
    return this.#view(job);
  }

  /** Lets prefetches run. Until then they wait; those of an earlier run come first. */
  begin(): void {
    this.#begun = true;
    this.#next();
  }

  /** Queues the unfinished prefetches of an earlier run, whose chunks are still in the cache. */
  #takeUp(left: readonly KeptPrefetch[]): void {
    const { log, check } = this.#options;
    for (const { id, url, askedAt, rate, sha256 } of left) {
      try {
        const order = { url: new URL(url), rate, sha256 };
        check(order.url);
        this.#add(id, order, askedAt);
      } catch (error) {
        log.warn({ err: error, url }, 'a prefetch of an earlier run is not resumed');
      }
    }
  }

  #add(id: string, order: PrefetchOrder, askedAt: Millis): Job {
    const run = new PrefetchRun(order, { ...this.#options, beat: this.#beat });
    const job: Job = { id, order, askedAt, run, state: 'waiting' };
    this.#jobs.set(job.id, job);
    this.#next();
    return job;
  }

  views(): PrefetchView[] {
    return [...this.#jobs.values()].map((job) => this.#view(job));
  }

  /** Stops a prefetch, or forgets one that is over. @returns undefined if there is none */
  stop(id: string): PrefetchView | undefined {
    const job = this.#jobs.get(id);
    if (job === undefined) return undefined;
    if (job.state === 'waiting' || job.state === 'running') {
      job.run.abort(new MillraceError('interrupted', 'stopped'));
      this.#end(job, 'stopped');
    } else this.#jobs.delete(id);
    return this.#view(job);
  }

  /** Ends this run; with a disk tier, unfinished prefetches resume in the next one. */
  async close(): Promise<void> {
    this.#begun = false;
    this.#closed = true;
    for (const job of [...this.#in('running'), ...this.#in('waiting')]) {
      // Readers of the list must not see a prefetch that will resume as over.
      if (this.#options.list === undefined) this.stop(job.id);
      else job.state = 'waiting';
      job.run.abort(new MillraceError('interrupted', 'the edge ends'));
    }
    this.#beat.stop();
    await this.#options.list?.close();
  }

  /** Resolves when the unfinished prefetches are written down. */
  async #keep(): Promise<void> {
    if (this.#closed) return;
    await this.#options.list?.write(() =>
      [...this.#in('running'), ...this.#in('waiting')].map(({ id, order, askedAt }) => {
        const { url, rate, sha256 } = order;
        return { id, url: url.href, askedAt, rate, sha256 };
      }),
    );
  }

  #in(state: PrefetchState): Job[] {
    return [...this.#jobs.values()].filter((job) => job.state === state);
  }

  #next(): void {
    if (!this.#begun) return;
    const [job] = this.#in('waiting');
    const running = this.#in('running').length;
    if (job === undefined || running >= MAX_RUNNING) {
      if (running === 0) this.#beat.stop();
      return;
    }
    this.#beat.start();
    job.state = 'running';
    job.run.run().then(
      (sha256) => {
        if (sha256 !== undefined) job.sha256 = sha256;
        this.#end(job, 'done');
      },
      (error: unknown) => {
        if (job.state !== 'running') return;
        job.error = asMillraceError(error);
        this.#end(job, 'failed');
      },
    );
    this.#next();
  }

  #end(job: Job, state: PrefetchState): void {
    if (job.state !== 'running' && job.state !== 'waiting') return;
    job.state = state;
    job.endedAt = this.#options.wallClock();
    const { url } = job.order;
    const { fetchedBytes } = job.run.stand;
    this.#options.log.info(
      { url: `${url.origin}${url.pathname}`, state, fetchedBytes, code: job.error?.code },
      'a prefetch has ended',
    );
    this.#options.onEnded(state);
    void this.#keep();
    const over = [...this.#jobs.values()].filter(({ endedAt }) => endedAt !== undefined);
    for (const { id } of over.slice(0, Math.max(0, over.length - MAX_OVER))) this.#jobs.delete(id);
    this.#next();
  }

  #view(job: Job): PrefetchView {
    const { id, order, run, state, askedAt, endedAt, sha256, error } = job;
    return {
      id,
      url: order.url.href,
      state,
      askedAt,
      ...(endedAt === undefined ? {} : { endedAt }),
      ...run.stand,
      outlivesRestart: this.#options.list !== undefined,
      ...(sha256 === undefined ? {} : { sha256 }),
      ...(error === undefined ? {} : { code: error.code, detail: error.detail }),
    };
  }
}
