/**
 * Chunks by name, wherever they are: memory, disk, or the source that routing names. Concurrent
 * requests for one chunk share one fetch, whoever asked first.
 */

import type { ByteRange } from '@millrace/shared/base/byte-range';
import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { SingleFlight } from '@millrace/shared/base/single-flight';
import { formatChunkName } from '@millrace/shared/cdn/chunk-name';
import { Chunk } from './chunk.ts';
import type { ChunkBuffer, ChunkMemory } from './chunk-memory.ts';
import { type AttemptObserver, CompetingFetch, type StartAttempt } from './competing-fetch.ts';
import type { DiskCache } from './disk-cache.ts';
import type { FileVersion } from './file-version.ts';
import type { MemoryCache } from './memory-cache.ts';
import { scopedKey } from './pointer-cache.ts';

/** One chunk of one version of a file. */
export interface ChunkRequest {
  readonly version: FileVersion;
  readonly range: ByteRange;
}

/** Where chunks come from that no cache of this node has. */
export interface ChunkSource {
  /**
   * Fetches the bytes of a chunk, checked against the version. The memory belongs to the caller.
   *
   * @throws MillraceError
   */
  fetch(
    request: ChunkRequest,
    attempt: number,
    signal: AbortSignal,
    observer: AttemptObserver,
  ): Promise<ChunkBuffer>;
  /** How long such a fetch may take before another beside it is justified. */
  lateAfterMs(request: ChunkRequest): Millis;
}

/** Where a chunk was found. */
export type Tier = 'memory' | 'disk' | 'source';

/** A chunk found: the caller is a user of it and must release it. */
export interface Found {
  readonly chunk: Chunk;
  readonly tier: Tier;
  /** True when another request had begun the fetch. */
  readonly joined: boolean;
}

export interface ChunkStoreOptions {
  readonly cache: MemoryCache;
  readonly memory: ChunkMemory;
  readonly disk: DiskCache | undefined;
  readonly source: ChunkSource;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
}

/** A caller that never leaves. */
const FOR_EVER = new AbortController().signal;

export class ChunkStore {
  readonly #o: ChunkStoreOptions;
  readonly #flights = new SingleFlight<string, { chunk: Chunk; tier: Tier }>();
  readonly #fetches = new Map<string, CompetingFetch<ChunkBuffer>>();

  constructor(options: ChunkStoreOptions) {
    this.#o = options;
  }

  /** The chunk if it is in memory; the caller is a user of it and must release it. */
  peek(request: ChunkRequest): Chunk | undefined {
    return this.#o.cache.get(chunkKey(request))?.retain();
  }

  /**
   * Gets a chunk from wherever it is.
   *
   * @param signal the caller's: its end cancels the fetch only if nobody else waits for it
   */
  async get(request: ChunkRequest, signal: AbortSignal): Promise<Found> {
    const key = chunkKey(request);
    const inMemory = this.#o.cache.get(key);
    if (inMemory !== undefined) return { chunk: inMemory.retain(), tier: 'memory', joined: false };
    const flight = this.#flights.run(key, signal, (all) => this.#find(key, request, all));
    const { chunk, tier } = await flight.result;
    return { chunk: chunk.retain(), tier, joined: flight.joined };
  }

  /**
   * Takes over a chunk that is already on its way as the body of another response. The body is
   * read to the end even if nobody waits for it: it is one chunk at most.
   *
   * @returns false if the chunk is here or under way already: the body is not needed
   */
  adopt(request: ChunkRequest, body: StartAttempt<ChunkBuffer>): boolean {
    const key = chunkKey(request);
    if (this.#o.cache.get(key) !== undefined || this.#flights.has(key)) return false;
    const flight = this.#flights.run(key, FOR_EVER, (all) => this.#fetch(key, request, all, body));
    flight.result.catch(() => {});
    return true;
  }

  /** A client finds the chunk late. */
  hedge(request: ChunkRequest): void {
    this.#fetches.get(chunkKey(request))?.hedge();
  }

  /** When bytes of a chunk under way last came in. */
  progressAt(request: ChunkRequest): Millis | undefined {
    return this.#fetches.get(chunkKey(request))?.progressAt;
  }

  async #find(key: string, request: ChunkRequest, signal: AbortSignal) {
    const onDisk = await this.#fromDisk(key, request);
    if (onDisk === undefined) return this.#fetch(key, request, signal);
    return this.#arrived(onDisk, 'disk');
  }

  async #fromDisk(key: string, { version, range }: ChunkRequest): Promise<Chunk | undefined> {
    const { disk, memory } = this.#o;
    const bytes = range.end - range.start;
    const record = await disk?.get(key, bytes, (size) => memory.allocate(size));
    return record && new Chunk(key, record.buffer, version, record.digest);
  }

  async #fetch(
    key: string,
    request: ChunkRequest,
    signal: AbortSignal,
    body?: StartAttempt<ChunkBuffer>,
  ) {
    const { source, now, disk } = this.#o;
    const fetch = new CompetingFetch({
      start: (attempt, attemptSignal, observer) =>
        attempt === 0 && body !== undefined
          ? body(attempt, attemptSignal, observer)
          : source.fetch(request, attempt, attemptSignal, observer),
      bytes: request.range.end - request.range.start,
      lateAfterMs: () => source.lateAfterMs(request),
      now,
    });
    this.#fetches.set(key, fetch);
    try {
      const chunk = new Chunk(key, await fetch.run(signal), request.version);
      if (chunk.data.length !== request.range.end - request.range.start) {
        throw new MillraceError('internal', 'a chunk of the wrong length');
      }
      if (disk !== undefined) {
        chunk.retain();
        disk.put(
          key,
          {},
          chunk.data,
          () => chunk.digest(),
          () => chunk.release(),
        );
      }
      return this.#arrived(chunk, 'source');
    } finally {
      // If everybody left and somebody came anew, the entry is the new fetch's.
      if (this.#fetches.get(key) === fetch) this.#fetches.delete(key);
    }
  }

  /** A new chunk goes to the cache and to those who wait for it. */
  #arrived(chunk: Chunk, tier: Tier) {
    this.#o.cache.put(chunk);
    // They become users of it in the microtasks that follow; then the maker's use can end.
    setImmediate(() => chunk.release());
    return { chunk, tier };
  }
}

/** The name that a chunk is cached under. */
export function chunkKey({ version, range }: ChunkRequest): string {
  return scopedKey(
    version.scope,
    formatChunkName({ url: version.url, range, salt: '', tag: version.tag }),
  );
}
