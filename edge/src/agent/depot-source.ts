/**
 * Chunks of files of depots: from this node's own disk, or from the node that has the depot. All
 * other chunks are the origin's.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { versionTag } from '@millrace/shared/cdn/chunks/version-tag';
import { MIN_ORIGIN_TIMEOUT_MS, RetryTimer } from '@millrace/shared/cdn/delivery/retry-timer';
import { depotFileId, depotFileTag, depotTagOf } from '@millrace/shared/cdn/depot/depot-file';
import type { AttemptObserver } from '@millrace/shared/cdn/fetch/competing-fetch';
import { LRUCache } from 'lru-cache';
import type { Depot } from '../depot/depot.ts';
import { readVerified } from '../depot/verified-read.ts';
import type { ChunkBuffer, ChunkMemory } from '../files/chunk-memory.ts';
import type { ChunkRequest, ChunkSource } from '../files/chunk-request.ts';
import type { DepotPeers } from '../peers/depot-peers.ts';

/** Copies of what other depots store, on this node's own disk. */
export interface Copies {
  /** Returns true for chunks of copies that may be used. */
  has(request: ChunkRequest): boolean;
  /** @throws MillraceError `no-such-allocation` */
  read(request: ChunkRequest): Promise<Buffer>;
}

export interface DepotSourceOptions {
  readonly origin: ChunkSource;
  /** This node's own depot, if it has one, and those of others, if it may ask them. */
  readonly depot: Depot | undefined;
  /** ExNodes of other depots that this node keeps; absent: none. */
  readonly copies?: Copies | undefined;
  readonly peers: DepotPeers | undefined;
  readonly memory: ChunkMemory;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
}

/** Most depots whose speed is remembered. */
const MAX_TIMERS = 1000;

export class DepotSource implements ChunkSource {
  readonly #options: DepotSourceOptions;
  /** Times of chunks, by the name of the depot. */
  readonly #timers = new LRUCache<string, RetryTimer>({ max: MAX_TIMERS });

  constructor(options: DepotSourceOptions) {
    this.#options = options;
  }

  isLocal(request: ChunkRequest): boolean {
    const id = depotFileId(request.version.url);
    if (id === undefined) return false;
    const { depot, copies } = this.#options;
    return depot?.get(id) !== undefined || copies?.has(request) === true;
  }

  lateAfterMs(request: ChunkRequest): Millis {
    const id = depotFileId(request.version.url);
    if (id === undefined) return this.#options.origin.lateAfterMs(request);
    return Math.max(MIN_ORIGIN_TIMEOUT_MS, this.#timer(id).timeoutMs(0));
  }

  async fetch(
    request: ChunkRequest,
    attempt: number,
    signal: AbortSignal,
    observer: AttemptObserver,
  ): Promise<ChunkBuffer> {
    const { origin, peers, now } = this.#options;
    const id = depotFileId(request.version.url);
    if (id === undefined) return origin.fetch(request, attempt, signal, observer);
    await this.#options.depot?.ready(signal);
    if (this.isLocal(request)) return this.#read(id, request, signal, observer);
    if (peers === undefined) throw new MillraceError('no-such-allocation');
    const startedAt = now();
    const buffer = await peers.fetch(request, signal, observer);
    if (attempt === 0) this.#timer(id).onChunk(now() - startedAt);
    return buffer;
  }

  async #read(
    id: string,
    { version, range }: ChunkRequest,
    signal: AbortSignal,
    observer: AttemptObserver,
  ): Promise<ChunkBuffer> {
    const { depot, copies, memory } = this.#options;
    const allocation = depot?.get(id);
    if (depot === undefined || allocation === undefined) {
      const bytes = await copies?.read({ version, range });
      if (bytes === undefined) throw new MillraceError('no-such-allocation');
      observer.onSent();
      const copy = memory.allocate(range.end - range.start);
      bytes.copy(copy.data);
      observer.onBytes(bytes.length);
      return copy;
    }
    const { length } = depot.checkReadable(allocation);
    const { edition } = allocation.head;
    const isOther =
      edition !== undefined &&
      version.tag !== versionTag({ etag: depotFileTag(id, edition) }, length);
    if (length !== version.length || isOther) throw new MillraceError('version-changed');
    observer.onSent();
    const buffer = memory.allocate(range.end - range.start);
    const reading = new AbortController();
    const ended = allocation.addReader(reading);
    try {
      let filled = 0;
      for await (const piece of readVerified(allocation.bytesFolder, range)) {
        signal.throwIfAborted();
        reading.signal.throwIfAborted();
        piece.copy(buffer.data, filled);
        filled += piece.length;
        observer.onBytes(piece.length);
      }
      return buffer;
    } catch (error) {
      buffer.release();
      await depot.onReadError(allocation, error);
      // The files of an allocation that has ended are gone: that they are missing is no fault.
      reading.signal.throwIfAborted();
      throw error;
    } finally {
      ended();
    }
  }

  #timer(id: string): RetryTimer {
    const tag = depotTagOf(id);
    let timer = this.#timers.get(tag);
    if (timer === undefined) {
      timer = new RetryTimer();
      this.#timers.set(tag, timer);
    }
    return timer;
  }
}
