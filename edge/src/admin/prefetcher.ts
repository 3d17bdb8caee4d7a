/**
 * Prefetching: files are fetched ahead of their clients, through the chunk store and so by way of
 * the nodes that routing names, where the chunks stay. One file at a time is begun after the other,
 * some run beside each other, and clients come first.
 */

import { createHash, type Hash, randomBytes } from 'node:crypto';
import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import type { Log } from '@millrace/shared/base/log';
import { TokenBucket } from '@millrace/shared/base/token-bucket';
import { chunkRange } from '@millrace/shared/cdn/chunk-plan';
import { type PlannedChunk, PrefetchPace, PrefetchPlan } from '@millrace/shared/cdn/prefetch-plan';
import { isTransient } from '@millrace/shared/cdn/transfer';
import { fileDigests } from '@millrace/shared/download/digest-fields';
import type { FileResolver } from '../agent/file-resolver.ts';
import type { Chunk } from '../cache/chunk.ts';
import type { ChunkStore } from '../cache/chunk-store.ts';
import type { Pointer } from '../cache/file-version.ts';

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

  constructor(options: PrefetcherOptions) {
    this.#o = options;
  }

  /** Prefetches that are not over. */
  get active(): number {
    return this.#in('waiting').length + this.#in('running').length;
  }

  /**
   * Begins a prefetch, or queues it.
   *
   * @throws MillraceError `queue-full`
   */
  start(order: PrefetchOrder): PrefetchView {
    if (this.#in('waiting').length >= MAX_WAITING) {
      throw new MillraceError('queue-full', `${MAX_WAITING} prefetches wait already`);
    }
    const { now, wallClock } = this.#o;
    const { rate } = order;
    const job: Job = {
      id: randomBytes(8).toString('hex'),
      order,
      askedAt: wallClock(),
      controller: new AbortController(),
      bucket: rate === undefined ? undefined : new TokenBucket(rate, rate, now()),
      state: 'waiting',
    };
    this.#jobs.set(job.id, job);
    this.#next();
    return view(job);
  }

  views(): PrefetchView[] {
    return [...this.#jobs.values()].map(view);
  }

  /** Stops a prefetch; one that is over is forgotten. @returns undefined if there is none */
  stop(id: string): PrefetchView | undefined {
    const job = this.#jobs.get(id);
    if (job === undefined) return undefined;
    if (job.state === 'waiting' || job.state === 'running') {
      job.controller.abort(new MillraceError('interrupted', 'stopped'));
      this.#end(job, 'stopped');
    } else this.#jobs.delete(id);
    return view(job);
  }

  stopAll(): void {
    for (const { id, state } of [...this.#jobs.values()]) {
      if (state === 'waiting' || state === 'running') this.stop(id);
    }
  }

  #in(state: PrefetchState): Job[] {
    return [...this.#jobs.values()].filter((job) => job.state === state);
  }

  #next(): void {
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
}

/** Hashes a file whose chunks come in any order: those that come early are held until their turn. */
class DigestCheck {
  readonly #expected: string;
  readonly #hash: Hash = createHash('sha256');
  readonly #early = new Map<number, Chunk>();
  #next = 0;

  constructor(expected: string) {
    this.#expected = expected;
  }

  /** True while no further chunks should be asked for but those that the others wait for. */
  get isFull(): boolean {
    return this.#early.size >= MAX_PARALLEL;
  }

  add(index: number, chunk: Chunk): void {
    this.#early.set(index, chunk.retain());
    for (;;) {
      const next = this.#early.get(this.#next);
      if (next === undefined) return;
      this.#early.delete(this.#next++);
      this.#hash.update(next.data);
      next.release();
    }
  }

  giveUp(): void {
    for (const chunk of this.#early.values()) chunk.release();
    this.#early.clear();
  }

  /** @throws MillraceError `checksum-mismatch` */
  end(): string {
    const actual = this.#hash.digest('hex');
    if (actual === this.#expected) return actual;
    throw new MillraceError('checksum-mismatch', `it has sha-256 ${actual}`);
  }
}

/** What the administrator says that the file must have, or else what the origin says. */
function digestCheck(asked: string | undefined, { version }: Pointer): DigestCheck | undefined {
  const stated = fileDigests(version.fields, 206).find(({ algorithm }) => algorithm === 'sha256');
  const expected = asked ?? stated?.hex;
  return expected === undefined ? undefined : new DigestCheck(expected);
}

function view(job: Job): PrefetchView {
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
    ...(sha256 === undefined ? {} : { sha256 }),
    ...(error === undefined ? {} : { code: error.code, detail: error.detail }),
  };
}
