/**
 * The prefetches of a node: files are begun one after the other, some run at the same time, and
 * those unfinished when the edge ends continue in its next run.
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

/** Prefetches that run at a time; further ones wait. */
const MAX_RUNNING = 2;
const MAX_WAITING = 1000;
/** Prefetches that are over and can still be looked at. */
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
  /** SHA-256 of the whole file, where it was asked for or the origin states it, and found right. */
  readonly sha256?: string;
  /** True where it continues after a restart of the edge. */
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
  /** Store of unfinished prefetches for the next run; undefined without a disk. */
  readonly list: PrefetchList | undefined;
  /** Unfinished prefetches of an earlier run. */
  readonly left: readonly KeptPrefetch[];
  /** @throws MillraceError where an origin may not be asked any more */
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

  /** Prefetches that are not over. */
  get active(): number {
    return this.#in('waiting').length + this.#in('running').length;
  }

  /**
   * Begins a prefetch, or queues it. Resolves when a later run of the edge would know of it.
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

  /** Lets prefetches run: before that they wait, with those of an earlier run first. */
  begin(): void {
    this.#begun = true;
    this.#next();
  }

  /**
   * Continues the unfinished prefetches of an earlier run: the chunks they have cached are still
   * there.
   */
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

  /** Stops a prefetch; a finished one is forgotten. @returns undefined for an unknown one */
  stop(id: string): PrefetchView | undefined {
    const job = this.#jobs.get(id);
    if (job === undefined) return undefined;
    if (job.state === 'waiting' || job.state === 'running') {
      job.run.abort(new MillraceError('interrupted', 'stopped'));
      this.#end(job, 'stopped');
    } else this.#jobs.delete(id);
    return this.#view(job);
  }

  /** Ends the run: unfinished prefetches continue in the next, where there is a disk. */
  async close(): Promise<void> {
    this.#begun = false;
    this.#closed = true;
    for (const job of [...this.#in('running'), ...this.#in('waiting')]) {
      // A reader of the list must not be told now that it is over.
      if (this.#options.list === undefined) this.stop(job.id);
      else job.state = 'waiting';
      job.run.abort(new MillraceError('interrupted', 'the edge ends'));
    }
    this.#beat.stop();
    await this.#options.list?.close();
  }

  /** Resolves when the unfinished prefetches are on disk. */
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
