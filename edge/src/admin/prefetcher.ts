/**
 * Prefetching: files are fetched ahead of their clients, through the chunk store and so by way of
 * the nodes that routing names, where the chunks stay. One file at a time is begun after the other,
 * some run beside each other, and clients come first.
 */

import { randomBytes } from 'node:crypto';
import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import type { Log } from '@millrace/shared/base/log';
import { TokenBucket } from '@millrace/shared/base/token-bucket';
import { chunkRange } from '@millrace/shared/cdn/chunk-plan';
import { type PlannedChunk, PrefetchPace, PrefetchPlan } from '@millrace/shared/cdn/prefetch-plan';
import { isTransient } from '@millrace/shared/cdn/transfer';
import type { FileResolver } from '../agent/file-resolver.ts';
import type { ChunkStore } from '../cache/chunk-store.ts';
import type { Pointer } from '../cache/file-version.ts';
import { type DigestCheck, digestCheck } from './digest-check.ts';
import type { KeptPrefetch, PrefetchList } from './prefetch-list.ts';

/** Prefetches that run at a time; further ones wait. */
const MAX_RUNNING = 2;
const MAX_WAITING = 1000;
/** Prefetches that are over and can still be looked at. */
const MAX_OVER = 200;
/** Chunks of one prefetch under way at a time, while clients have nothing to do. */
const MAX_PARALLEL = 8;
const MAX_PARALLEL_BYTES = 16 * 1024 * 1024;
/** How often is looked how clients do. */
const TICK_MS = 50;

export type PrefetchState = 'waiting' | 'running' | 'done' | 'failed' | 'stopped';

/** A prefetch as administrators see it. */
export interface PrefetchView {
  readonly id: string;
  readonly url: string;
  readonly state: PrefetchState;
  /** Unix milliseconds. */
  readonly askedAt: Millis;
  readonly endedAt?: Millis;
  /** Length of the file, once it is known. */
  readonly totalBytes?: number;
  /** Bytes that are in caches now; of these, what was not before. */
  readonly doneBytes: number;
  readonly fetchedBytes: number;
  /** SHA-256 of the whole file, where it was asked for or the origin states it, and found right. */
  readonly sha256?: string;
  /** True where it goes on after a restart of the edge. */
  readonly outlivesRestart: boolean;
  /** Why it failed. */
  readonly code?: string;
  readonly detail?: string;
}

export interface PrefetchOrder {
  readonly url: URL;
  /** Bytes per second, at most. */
  readonly rate?: number | undefined;
  /** SHA-256 that the file must have, hexadecimal. */
  readonly sha256?: string | undefined;
}

export interface PrefetcherOptions {
  readonly resolver: FileResolver;
  readonly chunks: ChunkStore;
  readonly chunkBytes: number;
  readonly log: Log;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
  /** Unix milliseconds. */
  readonly wallClock: () => Millis;
  /** How clients do: transfers under way, and bytes sent to them since the start. */
  readonly clients: () => { readonly transfers: number; readonly bytes: number };
  readonly onBytes: (bytes: number) => void;
  readonly onEnded: (state: PrefetchState) => void;
  /** Where those that are not over are kept for the next run; undefined where there is no disk. */
  readonly list: PrefetchList | undefined;
  /** Those of an earlier run. */
  readonly left: readonly KeptPrefetch[];
  /** @throws MillraceError where an origin may not be asked any more */
  readonly check: (url: URL) => void;
}

interface Job {
  readonly id: string;
  readonly order: PrefetchOrder;
  readonly askedAt: Millis;
  readonly controller: AbortController;
  readonly bucket: TokenBucket | undefined;
  state: PrefetchState;
  endedAt?: Millis;
  plan?: PrefetchPlan;
  check?: DigestCheck | undefined;
  sha256?: string;
  error?: MillraceError;
}

export class Prefetcher {
  readonly #o: PrefetcherOptions;
  readonly #jobs = new Map<string, Job>();
  readonly #pace = new PrefetchPace();
  #ticking: NodeJS.Timeout | undefined;
  #wake: (() => void)[] = [];
  #begun = false;
  #closed = false;

  constructor(options: PrefetcherOptions) {
    this.#o = options;
    this.#takeUp(options.left);
  }

  /** Prefetches that are not over. */
  get active(): number {
    return this.#in('waiting').length + this.#in('running').length;
  }

  /**
   * Begins a prefetch, or queues it. Resolves when the next run of the edge would know of it.
   *
   * @throws MillraceError `queue-full`
   */
  async start(order: PrefetchOrder): Promise<PrefetchView> {
    if (this.#in('waiting').length >= MAX_WAITING) {
      throw new MillraceError('queue-full', `${MAX_WAITING} prefetches wait already`);
    }
    const job = this.#add(randomBytes(8).toString('hex'), order, this.#o.wallClock());
    await this.#keep();
    return this.#view(job);
  }

  /** Lets prefetches run: before that they wait, those of an earlier run first. */
  begin(): void {
    this.#begun = true;
    this.#next();
  }

  /** Goes on with what an earlier run has not got to the end of: what it has cached is there. */
  #takeUp(left: readonly KeptPrefetch[]): void {
    const { log, check } = this.#o;
    for (const { id, url, askedAt, rate, sha256 } of left) {
      try {
        const order = { url: new URL(url), rate, sha256 };
        check(order.url);
        this.#add(id, order, askedAt);
      } catch (error) {
        log.warn({ err: error, url }, 'a prefetch of an earlier run is not gone on with');
      }
    }
  }

  #add(id: string, order: PrefetchOrder, askedAt: Millis): Job {
    const { now } = this.#o;
    const { rate } = order;
    const job: Job = {
      id,
      order,
      askedAt,
      controller: new AbortController(),
      bucket: rate === undefined ? undefined : new TokenBucket(rate, rate, now()),
      state: 'waiting',
    };
    this.#jobs.set(job.id, job);
    this.#next();
    return job;
  }

  views(): PrefetchView[] {
    return [...this.#jobs.values()].map((job) => this.#view(job));
  }

  /** Stops a prefetch; one that is over is forgotten. @returns undefined if there is none */
  stop(id: string): PrefetchView | undefined {
    const job = this.#jobs.get(id);
    if (job === undefined) return undefined;
    if (job.state === 'waiting' || job.state === 'running') {
      job.controller.abort(new MillraceError('interrupted', 'stopped'));
      this.#end(job, 'stopped');
    } else this.#jobs.delete(id);
    return this.#view(job);
  }

  /** Ends the run: what is not over goes on in the next, where there is a disk. */
  async close(): Promise<void> {
    this.#begun = false;
    this.#closed = true;
    for (const job of [...this.#in('running'), ...this.#in('waiting')]) {
      // Whoever looks at it now must not be told that it is over.
      if (this.#o.list === undefined) this.stop(job.id);
      else job.state = 'waiting';
      job.controller.abort(new MillraceError('interrupted', 'the edge ends'));
    }
    clearInterval(this.#ticking);
    for (const resolve of this.#wake.splice(0)) resolve();
    await this.#o.list?.close();
  }

  /** Resolves when those that are not over are written down. */
  async #keep(): Promise<void> {
    if (this.#closed) return;
    await this.#o.list?.write(() =>
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
      if (running === 0) {
        clearInterval(this.#ticking);
        this.#ticking = undefined;
        // Lanes of one that was stopped find that out.
        for (const resolve of this.#wake.splice(0)) resolve();
      }
      return;
    }
    this.#ticking ??= setInterval(() => this.#tick(), TICK_MS).unref();
    job.state = 'running';
    this.#run(job).then(
      () => this.#end(job, 'done'),
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
    job.endedAt = this.#o.wallClock();
    const { url } = job.order;
    const { fetchedBytes = 0 } = job.plan ?? {};
    this.#o.log.info(
      { url: `${url.origin}${url.pathname}`, state, fetchedBytes, code: job.error?.code },
      'a prefetch has ended',
    );
    this.#o.onEnded(state);
    void this.#keep();
    const over = [...this.#jobs.values()].filter(({ endedAt }) => endedAt !== undefined);
    for (const { id } of over.slice(0, Math.max(0, over.length - MAX_OVER))) this.#jobs.delete(id);
    this.#next();
  }

  async #run(job: Job): Promise<void> {
    const { resolver, chunkBytes } = this.#o;
    const { url } = job.order;
    const { signal } = job.controller;
    const demands = { revalidate: false, maxAgeMs: undefined, onlyIfCached: false };
    const resolution = await resolver.resolve(url, 'public', demands, signal);
    if (resolution.kind === 'tunnel') {
      throw new MillraceError('not-cacheable', resolution.reason);
    }
    const { pointer } = resolution;
    const plan = new PrefetchPlan(pointer.version.length, chunkBytes);
    job.plan = plan;
    job.check = digestCheck(job.order.sha256, pointer);
    const parallel = Math.max(1, Math.min(MAX_PARALLEL, MAX_PARALLEL_BYTES / chunkBytes));
    try {
      const lanes = Array.from({ length: parallel }, (_, lane) => lane);
      await Promise.all(lanes.map((lane) => this.#lane(job, plan, pointer, lane)));
    } finally {
      job.check?.giveUp();
    }
    signal.throwIfAborted();
    if (!plan.done) throw new MillraceError('internal', 'a prefetch ended before its end');
    const sha256 = job.check?.end();
    if (sha256 !== undefined) job.sha256 = sha256;
  }

  /** Asks for one chunk after the other. Beside clients, only the first lane does. */
  async #lane(job: Job, plan: PrefetchPlan, pointer: Pointer, lane: number): Promise<void> {
    const { now, clients } = this.#o;
    const { signal } = job.controller;
    while (!plan.done && !signal.aborted) {
      const { transfers } = clients();
      const tooMany = (lane > 0 && transfers > 0) || job.check?.isFull === true;
      const mayStart = !tooMany && this.#pace.mayStart(transfers) && this.#hasRate(job);
      // What others wait for to be hashed is asked for again in any case.
      const chunk = mayStart ? plan.take(now()) : plan.takeAgain(now());
      if (chunk === undefined) {
        if (lane > 0 && plan.nextDeadline === undefined && mayStart) return;
        await this.#nextTick();
        continue;
      }
      this.#pace.onStart(chunk.bytes, transfers);
      job.bucket?.take(chunk.bytes, now());
      await this.#fetch(job, plan, pointer, chunk).catch((error: unknown) => {
        // The other lanes need not go on.
        job.controller.abort(error);
        throw error;
      });
    }
  }

  async #fetch(
    job: Job,
    plan: PrefetchPlan,
    { version, finalUrl }: Pointer,
    planned: PlannedChunk,
  ): Promise<void> {
    const { chunks, chunkBytes, now, onBytes } = this.#o;
    const { signal } = job.controller;
    const range = chunkRange(planned.index, chunkBytes, version.length);
    const directUrl = finalUrl === version.url ? undefined : finalUrl;
    try {
      const { chunk, tier } = await chunks.get({ version, range, directUrl }, signal);
      try {
        job.check?.add(planned.index, chunk);
      } finally {
        chunk.release();
      }
      const fetched = tier === 'source' || tier === 'peer';
      plan.onChunk(planned, fetched);
      if (fetched) onBytes(planned.bytes);
    } catch (thrown) {
      signal.throwIfAborted();
      const error = asMillraceError(thrown);
      if (!isTransient(error.code) || !plan.onFailed(planned, now())) throw error;
    }
  }

  #hasRate({ bucket }: Job): boolean {
    return bucket === undefined || bucket.waitMs(this.#o.now()) === 0;
  }

  #nextTick(): Promise<void> {
    return new Promise((resolve) => this.#wake.push(resolve));
  }

  #tick(): void {
    const { transfers, bytes } = this.#o.clients();
    this.#pace.onClients(transfers, bytes, this.#o.now());
    for (const resolve of this.#wake.splice(0)) resolve();
  }

  #view(job: Job): PrefetchView {
    const { id, order, state, askedAt, endedAt, plan, sha256, error } = job;
    return {
      id,
      url: order.url.href,
      state,
      askedAt,
      ...(endedAt === undefined ? {} : { endedAt }),
      ...(plan === undefined ? {} : { totalBytes: plan.fileBytes }),
      doneBytes: plan?.doneBytes ?? 0,
      fetchedBytes: plan?.fetchedBytes ?? 0,
      outlivesRestart: this.#o.list !== undefined,
      ...(sha256 === undefined ? {} : { sha256 }),
      ...(error === undefined ? {} : { code: error.code, detail: error.detail }),
    };
  }
}
