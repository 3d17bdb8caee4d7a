/**
 * Chunks by name, wherever they are: memory, disk, another node or the origin. Concurrent requests
 * for one chunk share a fetch; `chunk-flights.ts` decides which requests do.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { AskedOften } from '@millrace/shared/cdn/chunks/asked-often';
import type { Tier } from '@millrace/shared/cdn/chunks/cache-outcome';
import { ChunkFlights } from '@millrace/shared/cdn/fetch/chunk-flights';
import { CompetingFetch, type StartAttempt } from '@millrace/shared/cdn/fetch/competing-fetch';
import { PATIENCE_AT_THE_ORIGIN } from '@millrace/shared/cdn/fetch/hedge';
import type { DiskCache } from '../cache/disk-cache.ts';
import type { MemoryCache } from '../cache/memory-cache.ts';
import { Purges } from '../cache/purges.ts';
import { Chunk } from '../files/chunk.ts';
import type { ChunkBuffer, ChunkMemory } from '../files/chunk-memory.ts';
import { type ChunkRequest, type ChunkSource, chunkKey } from '../files/chunk-request.ts';
import type { FileVersion } from '../files/file-version.ts';
import { INGRESS, type Path } from '../files/path.ts';
import type { Network } from '../peers/network.ts';
import { forwardFetch } from './forward-fetch.ts';

/** A chunk found: the caller is a user of it and must release it. */
export interface Found {
  readonly chunk: Chunk;
  readonly tier: Tier;
  /** True when another request had begun the fetch. */
  readonly joined: boolean;
  /** True when the first request of the fetch lost to a later one, for all that waited for it. */
  readonly overtaken: boolean;
}

/** The result of a fetch that callers share. */
type Arrived = Omit<Found, 'joined'>;

export interface ChunkStoreOptions {
  readonly cache: MemoryCache;
  readonly memory: ChunkMemory;
  readonly disk: DiskCache | undefined;
  /** Purges so far; absent: no purges ever. */
  readonly purges?: Purges;
  readonly source: ChunkSource;
  /** Other nodes, if there are any. */
  readonly network: Network | undefined;
  /** Called with the number of the request that won a race for a chunk; the first one is 0. */
  readonly onRaced?: (winner: number) => void;
  /**
   * Called when a chunk has been fetched.
   *
   * @param hop as in the figure of forwards: 1 for the first node that forwards it; `origin` for a
   *   fetch from there
   * @param requests that the fetch has sent, competing ones included
   */
  readonly onFetched?: (hop: number | 'origin', requests: number) => void;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
}

/** A caller that never leaves. */
const FOR_EVER = new AbortController().signal;

export class ChunkStore {
  readonly #options: ChunkStoreOptions;
  readonly #purges: Purges;
  readonly #flights = new ChunkFlights<Arrived>();
  /** Chunks that this node has fetched from others and does not keep. */
  readonly #passed = new AskedOften();

  constructor(options: ChunkStoreOptions) {
    this.#options = options;
    this.#purges = options.purges ?? new Purges();
  }

  /** Returns the chunk if it is in memory; the caller is a user of it and must release it. */
  peek(request: ChunkRequest): Chunk | undefined {
    return this.#inMemory(chunkKey(request))?.retain();
  }

  /**
   * Gets a chunk from wherever it is.
   *
   * @param signal of the caller: its abort cancels the fetch only if no other caller waits
   * @param path how the request has come here
   */
  async get(request: ChunkRequest, signal: AbortSignal, path: Path = INGRESS): Promise<Found> {
    const key = chunkKey(request);
    const inMemory = this.#inMemory(key);
    if (inMemory !== undefined) return inMemoryAlready(inMemory.retain());
    const flight = this.#flight(key, request, signal, path);
    const { chunk, tier, overtaken } = await flight.result;
    return { chunk: chunk.retain(), tier, joined: flight.joined, overtaken };
  }

  /**
   * Takes over a chunk that is already on its way as the body of another response. The body is
   * read to the end even if no caller waits for it: it is one chunk at most.
   *
   * @param generation in which the body was asked for
   * @returns false if the chunk is here or under way already: the body is not needed
   */
  adopt(
    request: ChunkRequest,
    body: StartAttempt<ChunkBuffer>,
    generation = this.#purges.current,
  ): boolean {
    const key = chunkKey(request);
    const name = this.#named(request);
    if (this.#inMemory(key) !== undefined || this.#flights.hasOwn(name)) return false;
    // A body requested before a purge must not reach callers that ask after the purge.
    if (this.#isVoid(request.version, generation)) return false;
    const flight = this.#flights.own(name, FOR_EVER, (all) => this.#fetch(key, request, all, body));
    flight.result.catch(() => {});
    return true;
  }

  /** Stores a chunk that came in a stream; it becomes void with a purge like all others. */
  store(chunk: Chunk): void {
    if (this.#isVoid(chunk.version, chunk.generation)) return;
    this.#options.cache.put(chunk);
    this.#toDisk(chunk);
  }

  /** Returns true if the chunk is on this machine apart from any cache: in the node's own depot. */
  isLocal(request: ChunkRequest): boolean {
    return this.#options.source.isLocal?.(request) === true;
  }

  /** Returns true if the chunk is here, or is being fetched from the origin. */
  holds(request: ChunkRequest): boolean {
    if (this.isLocal(request)) return true;
    const key = chunkKey(request);
    if (this.#inMemory(key) !== undefined || this.#flights.hasOwn(this.#named(request)))
      return true;
    return this.#options.disk?.has(key) === true;
  }

  /** Reports that a caller finds the chunk late, which may start a competing request. */
  hedge(request: ChunkRequest, path: Path = INGRESS): void {
    this.#flights.hedge(this.#named(request), path);
  }

  /** Returns when bytes of a chunk under way last came in. */
  progressAt(request: ChunkRequest, path: Path = INGRESS): Millis | undefined {
    return this.#flights.progressAt(this.#named(request), path);
  }

  /** Returns the share of a chunk under way that has arrived, 0 to 1. */
  share(request: ChunkRequest, path: Path): number {
    return this.#flights.share(this.#named(request), path);
  }

  /** Decides which node serves the chunk, and fetches it accordingly. */
  #flight(key: string, request: ChunkRequest, signal: AbortSignal, path: Path) {
    const isHere = this.isLocal(request) || this.#options.source.isOwn?.(request) === true;
    const isShared = request.version.scope === 'public' && !isHere;
    const network = isShared ? this.#options.network : undefined;
    return this.#flights.get(this.#named(request), path, signal, {
      route: () => network?.route(request, path, 0, new Set()),
      forward: ({ keep }, all) => this.#forward(key, request, network as Network, path, keep, all),
      own: (all) => this.#find(key, request, all),
    });
  }

  async #find(key: string, request: ChunkRequest, signal: AbortSignal) {
    const onDisk = await this.#fromDisk(key, request);
    if (onDisk === undefined) return this.#fetch(key, request, signal);
    return this.#arrived(onDisk, 'disk', true);
  }

  async #fromDisk(key: string, { version, range }: ChunkRequest): Promise<Chunk | undefined> {
    const { disk, memory } = this.#options;
    if (this.#purges.settling !== undefined) await this.#purges.settling;
    const bytes = range.end - range.start;
    const record = await disk?.get(key, bytes, (size) => memory.allocate(size));
    if (record === undefined) return undefined;
    const generation = this.#purges.readMark(record.meta);
    if (!this.#isVoid(version, generation)) {
      return new Chunk(key, record.buffer, version, record.digest, generation);
    }
    record.buffer.release();
    disk?.delete(key);
    return undefined;
  }

  async #fetch(
    key: string,
    request: ChunkRequest,
    signal: AbortSignal,
    body?: StartAttempt<ChunkBuffer>,
  ) {
    const { source, now, onRaced } = this.#options;
    const generation = this.#purges.current;
    const bytes = request.range.end - request.range.start;
    const fetch = new CompetingFetch<ChunkBuffer>({
      start: (attempt, attemptSignal, observer) =>
        attempt === 0 && body !== undefined
          ? body(attempt, attemptSignal, observer)
          : source.fetch(request, attempt, attemptSignal, observer),
      bytes,
      patience: () => PATIENCE_AT_THE_ORIGIN,
      lateAfterMs: () => source.lateAfterMs(request),
      now,
      ...(onRaced === undefined ? {} : { onRaced }),
    });
    const isLocal = this.isLocal(request);
    const buffer = await this.#flights.run(this.#named(request), undefined, fetch, signal);
    if (!isLocal) this.#options.onFetched?.('origin', fetch.begun);
    const chunk = new Chunk(key, buffer, request.version, undefined, generation);
    if (chunk.data.length !== bytes) {
      chunk.release();
      throw new MillraceError('internal', 'a chunk of wrong length');
    }
    if (isLocal) return this.#arrived(chunk, 'disk', false);
    this.#toDisk(chunk);
    return this.#arrived(chunk, 'source', true, fetch.overtaken);
  }

  /** Fetches by way of other nodes, or from the origin if none of them can help. */
  async #forward(
    key: string,
    request: ChunkRequest,
    network: Network,
    path: Path,
    keep: boolean,
    signal: AbortSignal,
  ) {
    const onDisk = await this.#fromDisk(key, request);
    if (onDisk !== undefined) return this.#arrived(onDisk, 'disk', true);
    const forward = forwardFetch({
      key,
      request,
      path,
      network,
      generation: this.#purges.current,
      now: this.#options.now,
      onRaced: this.#options.onRaced,
      fallback: async (end) => {
        const name = this.#named(request);
        const own = this.#flights.own(name, end, (all) => this.#find(key, request, all));
        const { chunk, ...found } = await own.result;
        return { ...found, chunk: chunk.retain() };
      },
    });
    const unwatch = forward.watch();
    const fetched = this.#flights.run(this.#named(request), path, forward.fetch, signal);
    const { chunk, tier, overtaken } = await fetched.finally(unwatch);
    this.#options.onFetched?.(path.hops + 1, forward.fetch.begun);
    // A chunk that came from the origin after all has been kept already.
    if (keep && tier === 'peer') this.#toDisk(chunk);
    else if (tier === 'peer') this.#copy(chunk);
    const raced = overtaken || forward.fetch.overtaken;
    return this.#arrived(chunk, tier, keep && tier === 'peer', raced);
  }

  /**
   * Copies a chunk of another node to memory if clients of this one ask for it often. The papers'
   * proxies never do (NSDI 3.2), and each request for a popular chunk costs two nodes; on a busy
   * node it also waits for the other one's turn.
   */
  #copy(chunk: Chunk): void {
    const { cache } = this.#options;
    if (!this.#passed.isOften(chunk.key, chunk.data.length, cache.roomForCopies)) return;
    if (!this.#isVoid(chunk.version, chunk.generation)) cache.putCopy(chunk);
  }

  #toDisk(chunk: Chunk): void {
    if (this.#options.disk === undefined || this.#isVoid(chunk.version, chunk.generation)) return;
    chunk.retain();
    this.#options.disk.put(
      chunk.key,
      { mark: this.#purges.diskMark(chunk.generation) },
      chunk.data,
      () => chunk.digest(),
      () => chunk.release(),
    );
  }

  /** Returns the chunk, unless it has been purged since. */
  #inMemory(key: string): Chunk | undefined {
    const chunk = this.#options.cache.get(key);
    if (chunk === undefined || !this.#isVoid(chunk.version, chunk.generation)) return chunk;
    this.#options.cache.delete(key);
    return undefined;
  }

  #isVoid({ url, tag }: FileVersion, generation: number): boolean {
    return this.#purges.isVoid(url, tag, generation);
  }

  /**
   * Names the fetches of a chunk. The name changes with a purge, so that no request joins a fetch
   * from before it.
   */
  #named(request: ChunkRequest): string {
    const { url, tag } = request.version;
    return `${chunkKey(request)}${this.#purges.era(url, tag)}`;
  }

  /** Hands a new chunk to the callers that wait for it, and to the cache if it belongs there. */
  #arrived(chunk: Chunk, tier: Tier, keep: boolean, overtaken = false): Arrived {
    if (keep && !this.#isVoid(chunk.version, chunk.generation)) this.#options.cache.put(chunk);
    // The callers become its users in the microtasks that follow; then the maker's use can end.
    setImmediate(() => chunk.release());
    return { chunk, tier, overtaken };
  }
}

/** A chunk that no fetch was needed for. @param chunk that the caller is a user of already */
export function inMemoryAlready(chunk: Chunk): Found {
  return { chunk, tier: 'memory', joined: false, overtaken: false };
}
