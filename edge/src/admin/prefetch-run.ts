/**
 * One file fetched ahead of its clients, through the chunk store and so by way of the nodes that
 * routing names, where the chunks stay. Clients come first.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError, isPassing, MillraceError } from '@millrace/shared/base/errors';
import { TokenBucket } from '@millrace/shared/base/token-bucket';
import { chunkRange } from '@millrace/shared/cdn/chunks/chunk-plan';
import { type PlannedChunk, PrefetchPlan } from '@millrace/shared/cdn/upkeep/prefetch-plan';
import type { ChunkStore } from '../agent/chunk-store.ts';
import type { FileResolver } from '../agent/file-resolver.ts';
import type { Resolution } from '../agent/origin-version.ts';
import type { Pointer } from '../files/file-version.ts';
import { type DigestCheck, digestCheck } from './digest-check.ts';
import type { PrefetchBeat } from './prefetch-beat.ts';

/** Most chunks of one prefetch under way at a time, while no client has a transfer. */
const MAX_PARALLEL = 8;
const MAX_PARALLEL_BYTES = 16 * 1024 * 1024;

export interface PrefetchOrder {
  readonly url: URL;
  /** Bytes per second, at most. */
  readonly rate?: number | undefined;
  /** SHA-256 that the file must have, hexadecimal. */
  readonly sha256?: string | undefined;
}

export interface PrefetchRunOptions {
  readonly resolver: FileResolver;
  readonly chunks: ChunkStore;
  readonly chunkBytes: number;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
  readonly onBytes: (bytes: number) => void;
  readonly beat: PrefetchBeat;
}

/** How far a prefetch has come. */
export interface PrefetchStand {
  /** Length of the file, once it is known. */
  readonly totalBytes?: number;
  /** Bytes of the file that are in caches now, and those of them that had to be fetched. */
  readonly doneBytes: number;
  readonly fetchedBytes: number;
}

export class PrefetchRun {
  readonly #order: PrefetchOrder;
  readonly #options: PrefetchRunOptions;
  readonly #controller = new AbortController();
  readonly #bucket: TokenBucket | undefined;
  #plan: PrefetchPlan | undefined;
  #check: DigestCheck | undefined;

  constructor(order: PrefetchOrder, options: PrefetchRunOptions) {
    this.#order = order;
    this.#options = options;
    const { rate } = order;
    this.#bucket = rate === undefined ? undefined : new TokenBucket(rate, rate, options.now());
  }

  get stand(): PrefetchStand {
    const plan = this.#plan;
    if (plan === undefined) return { doneBytes: 0, fetchedBytes: 0 };
    const { fileBytes: totalBytes, doneBytes, fetchedBytes } = plan;
    return { totalBytes, doneBytes, fetchedBytes };
  }

  /** Ends the prefetch at once: `run` rejects with the reason. */
  abort(reason: MillraceError): void {
    this.#controller.abort(reason);
  }

  /**
   * Fetches the file to its end.
   *
   * @returns SHA-256 of the whole file, if it was to be checked
   * @throws MillraceError `not-cacheable`, `checksum-mismatch`, and the error of a chunk
   */
  async run(): Promise<string | undefined> {
    const { resolver, chunkBytes } = this.#options;
    const { url, sha256 } = this.#order;
    const { signal } = this.#controller;
    const demands = { revalidate: false, maxAgeMs: undefined, onlyIfCached: false };
    const resolution = await resolver.resolve(url, 'public', demands, signal);
    if (resolution.kind === 'tunnel') {
      throw new MillraceError('not-cacheable', resolution.reason);
    }
    const pointer =
      resolution.kind === 'file' ? resolution.pointer : await this.#streamed(resolution);
    const plan = new PrefetchPlan(pointer.version.length, chunkBytes);
    this.#plan = plan;
    this.#check = digestCheck(sha256, pointer);
    const parallel = Math.max(1, Math.min(MAX_PARALLEL, MAX_PARALLEL_BYTES / chunkBytes));
    try {
      const lanes = Array.from({ length: parallel }, (_, lane) => lane);
      await Promise.all(lanes.map((lane) => this.#lane(plan, pointer, lane)));
    } finally {
      this.#check?.giveUp();
    }
    signal.throwIfAborted();
    if (!plan.done) throw new MillraceError('internal', 'a prefetch ended before its end');
    return this.#check?.end();
  }

  /** Waits for the end of a file that comes in one stream. @throws MillraceError of the stream */
  async #streamed({ stream, pointer }: Extract<Resolution, { kind: 'stream' }>): Promise<Pointer> {
    const follower = stream.follow();
    try {
      while (!stream.ended) {
        follower.at(stream.received);
        await stream.changed(this.#controller.signal);
      }
    } finally {
      follower.leave();
    }
    const { error, length = 0 } = stream;
    if (error !== undefined) throw error;
    return { ...pointer, version: { ...pointer.version, length } };
  }

  /** Fetches one chunk after the other. While clients have transfers, only the first lane does. */
  async #lane(plan: PrefetchPlan, pointer: Pointer, lane: number): Promise<void> {
    const { now, beat } = this.#options;
    const { signal } = this.#controller;
    while (!plan.done && !signal.aborted) {
      const { transfers } = beat;
      const tooMany = (lane > 0 && transfers > 0) || this.#check?.isFull === true;
      const mayStart = !tooMany && beat.pace.mayStart(transfers) && this.#hasRate();
      // A failed chunk is retried in any case, because later chunks may wait for it before they are
      // hashed.
      const chunk = mayStart ? plan.take(now()) : plan.takeAgain(now());
      if (chunk === undefined) {
        if (lane > 0 && plan.nextDeadline === undefined && mayStart) return;
        await beat.next();
        continue;
      }
      beat.pace.onStart(chunk.bytes, transfers);
      this.#bucket?.take(chunk.bytes, now());
      await this.#fetch(plan, pointer, chunk).catch((error: unknown) => {
        // The other lanes need not continue.
        this.#controller.abort(error);
        throw error;
      });
    }
  }

  async #fetch(
    plan: PrefetchPlan,
    { version, finalUrl }: Pointer,
    planned: PlannedChunk,
  ): Promise<void> {
    const { chunks, chunkBytes, now, onBytes } = this.#options;
    const { signal } = this.#controller;
    const range = chunkRange(planned.index, chunkBytes, version.length);
    const directUrl = finalUrl === version.url ? undefined : finalUrl;
    try {
      const { chunk, tier } = await chunks.get({ version, range, directUrl }, signal);
      try {
        this.#check?.add(planned.index, chunk);
      } finally {
        chunk.release();
      }
      const fetched = tier === 'source' || tier === 'peer';
      plan.onChunk(planned, fetched);
      if (fetched) onBytes(planned.bytes);
    } catch (thrown) {
      signal.throwIfAborted();
      const error = asMillraceError(thrown);
      if (!isPassing(error.row) || !plan.onFailed(planned, now())) throw error;
    }
  }

  #hasRate(): boolean {
    return this.#bucket === undefined || this.#bucket.waitMs(this.#options.now()) === 0;
  }
}
