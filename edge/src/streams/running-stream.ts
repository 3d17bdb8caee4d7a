/**
 * One stream of a file whose origin has no ranges: cut into chunks as it passes, for all clients
 * that follow it and for the cache. A stream that breaks off begins again; what has come before is
 * compared with the second answer, byte by byte or by the digests of chunks.
 */

import { createHash, type Hash } from 'node:crypto';
import { asMillraceError, isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { chunkRange } from '@millrace/shared/cdn/chunks/chunk-plan';
import { aloneUntil, mayRunTo, type StreamDigests } from '@millrace/shared/cdn/chunks/stream-plan';
import { Chunk } from '../files/chunk.ts';
import type { ChunkBuffer } from '../files/chunk-memory.ts';
import { type ChunkRequest, chunkKey } from '../files/chunk-request.ts';
import type {
  Follower,
  RunningStreamOptions,
  StreamBody,
  StreamedVersion,
} from './stream-types.ts';

/** Time for which a stream that another node reads waits for the next request, milliseconds. */
const LINGER_MS = 30_000;
/** Errors of origins after which the same file may be had. */
const BREAKS = ['origin-reset', 'origin-timeout'] as const;
/** Most times that a stream begins again. */
const MAX_RESUMES = 3;
/** Most bytes of the chunk under way that are copied for a client at a time. */
const TAIL_BYTES = 64 * 1024;

export class RunningStream {
  readonly #options: RunningStreamOptions;
  readonly #positions = new Map<Follower, number>();
  #waiting: (() => void)[] = [];
  #response: StreamBody | undefined;
  #isBroken = false;
  #resume: () => void = () => {};
  #paused = false;
  /** Position of the pass under way; behind `received` while it repeats what has come. */
  #position = 0;
  #received = 0;
  #hash: Hash = createHash('sha256');
  /** The chunk under way. */
  #buffer: ChunkBuffer | undefined;
  #aloneUntil: number;
  #ended = false;
  #resumes = 0;
  readonly #stop = new AbortController();
  #lingers = false;
  #idle: NodeJS.Timeout | undefined;
  error: MillraceError | undefined;
  length: number | undefined;

  constructor(options: RunningStreamOptions) {
    this.#options = options;
    this.length = options.version.length;
    this.#aloneUntil = aloneUntil(0, this.length);
    // The client that began it joins in a moment.
    if (this.#aloneUntil === 0) this.#aloneUntil = options.chunkBytes;
  }

  get version(): StreamedVersion {
    return this.#options.version;
  }

  get digests(): StreamDigests {
    return this.#options.digests;
  }

  get generation(): number {
    return this.#options.generation;
  }

  /** Aborted when it fails. */
  get stopped(): AbortSignal {
    return this.#stop.signal;
  }

  /** True once there is an answer. */
  get begun(): boolean {
    return this.#response !== undefined;
  }

  /** True from the time it breaks off until it goes on: nobody may follow it meanwhile. */
  get isBroken(): boolean {
    return this.#isBroken;
  }

  /** Names of the nodes that it comes from; empty if it comes from the origin. */
  get sources(): readonly string[] {
    return this.#response?.sources ?? [];
  }

  /** Bytes that may still come while it has no clients; 0 while it has some. */
  get aloneBytes(): number {
    const until = Math.min(this.#aloneUntil, this.length ?? this.#aloneUntil);
    return this.#ended || this.#positions.size > 0 ? 0 : Math.max(0, until - this.#received);
  }

  /** Bytes that clients may read. */
  get received(): number {
    return this.#received;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** False for a file that has turned out to be too large for the cache. */
  get keeps(): boolean {
    return this.#received <= this.#options.maxBytes;
  }

  /** Reads the answer to its end; `onEnd` tells the outcome. */
  run(response: StreamBody): void {
    void this.#run(response).then(
      () => this.#end(),
      (error: unknown) => this.#end(asMillraceError(error)),
    );
  }

  /**
   * Adds a client, at the beginning of the file.
   *
   * @param lingers true for one of many requests of a reader, who may come again
   */
  follow(lingers = false): Follower {
    this.#lingers ||= lingers;
    const follower: Follower = {
      at: (position) => {
        if (!this.#positions.has(follower)) return;
        this.#positions.set(follower, Math.max(this.#positions.get(follower) ?? 0, position));
        this.#goOn();
      },
      leave: () => {
        if (!this.#positions.delete(follower) || this.#positions.size > 0) return;
        this.#aloneUntil = aloneUntil(this.#received, this.length);
        this.#goOn();
      },
    };
    this.#positions.set(follower, 0);
    this.#goOn();
    return follower;
  }

  /** Names the chunk at an index, which must have come. */
  request(index: number): ChunkRequest {
    const { version, chunkBytes } = this.#options;
    const length = this.#ended ? (this.length ?? 0) : Number.MAX_SAFE_INTEGER;
    const known = this.length ?? length;
    return {
      version: { ...version, length: known },
      range: chunkRange(index, chunkBytes, known),
    };
  }

  /** Copies bytes of the chunk under way; undefined if the position is in a chunk that has come. */
  tail(position: number): Buffer | undefined {
    const { chunkBytes } = this.#options;
    const start = this.#received - (this.#received % chunkBytes);
    if (this.#buffer === undefined || position < start || position >= this.#received) return;
    const end = Math.min(this.#received, position + TAIL_BYTES);
    return Buffer.from(this.#buffer.data.subarray(position - start, end - start));
  }

  /** Resolves when more has come, or it has ended. @throws the signal's reason */
  async changed(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#ended) return;
    let abort = () => {};
    const left = new Promise<never>((_, reject) => {
      abort = () => reject(signal.reason);
      signal.addEventListener('abort', abort, { once: true });
    });
    try {
      await Promise.race([new Promise<void>((resolve) => this.#waiting.push(resolve)), left]);
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  /** Ends it with an error. */
  fail(error: MillraceError): void {
    this.#stop.abort(error);
    this.#response?.discard();
    this.#end(error);
  }

  async #run(first: StreamBody): Promise<void> {
    let response = first;
    for (;;) {
      this.#response = response;
      this.#isBroken = false;
      this.#position = response.from ?? 0;
      this.#hash = createHash('sha256');
      const before = this.#received;
      try {
        await response.pipe((piece, resume) => {
          this.#resume = resume;
          return this.#take(piece);
        });
        return this.#complete();
      } catch (error) {
        if (this.#ended) throw error;
        const broke =
          response.sources === undefined
            ? this.#received > before && BREAKS.some((code) => isMillraceError(error, code))
            : response.isLost === true;
        const isWanted = this.#positions.size > 0;
        if (!broke || !isWanted || ++this.#resumes > MAX_RESUMES) throw error;
      }
      this.#isBroken = true;
      response = await this.#options.again(this.#stop.signal);
      if (this.#ended) return response.discard();
    }
  }

  /** Takes bytes of the answer. @returns false to hold back the next ones */
  #take(piece: Buffer): boolean {
    if (this.#ended) return false;
    if (this.#response?.sources === undefined) this.#options.onOriginBytes(piece.length);
    try {
      for (let taken = 0; taken < piece.length; ) {
        taken += this.#takePart(piece.subarray(taken));
      }
    } catch (error) {
      this.fail(asMillraceError(error));
      return false;
    }
    this.#wake();
    this.#paused = !this.#mayRun();
    if (this.#paused && this.#positions.size === 0) this.#abandon();
    return !this.#paused;
  }

  /** Takes bytes of one chunk at most. @returns their number */
  #takePart(piece: Buffer): number {
    const { chunkBytes } = this.#options;
    const at = this.#position % chunkBytes;
    const isRepeated = this.#position < this.#received;
    const room = isRepeated
      ? Math.min(chunkBytes - at, this.#received - this.#position)
      : chunkBytes - at;
    const part = piece.subarray(0, room);
    const start = this.#position - at;
    const isUnderWay = start + chunkBytes > this.#received;
    if (isRepeated && isUnderWay) {
      // Clients may have these bytes already, although the chunk is not complete.
      const held = this.#buffer?.data.subarray(at, at + part.length);
      if (held === undefined || !held.equals(part)) throw changed();
    } else if (!isRepeated) {
      if (this.length !== undefined && this.#position + part.length > this.length) throw changed();
      this.#buffer ??= this.#allocate(start);
      part.copy(this.#buffer.data, at);
    }
    this.#hash.update(part);
    this.#position += part.length;
    this.#received = Math.max(this.#received, this.#position);
    if (at + part.length === chunkBytes) this.#chunk(start, chunkBytes);
    return part.length;
  }

  #allocate(start: number): ChunkBuffer {
    const { memory, chunkBytes } = this.#options;
    return memory.allocate(Math.min(chunkBytes, (this.length ?? Number.POSITIVE_INFINITY) - start));
  }

  /** Ends a chunk: compares it with what is known, and keeps it if it is new. */
  #chunk(start: number, bytes: number): void {
    const { digests, chunkBytes, generation, keep, memory } = this.#options;
    const digest = this.#hash.digest();
    this.#hash = createHash('sha256');
    const index = start / chunkBytes;
    if (!digests.accept(index, digest)) throw changed();
    let buffer = this.#buffer;
    // A chunk that was complete before has been kept.
    if (buffer === undefined || start + bytes < this.#received) return;
    this.#buffer = undefined;
    if (buffer.data.length !== bytes) {
      const exact = memory.allocate(bytes);
      buffer.data.copy(exact.data, 0, 0, bytes);
      buffer.release();
      buffer = exact;
    }
    const version = { ...this.version, length: this.length ?? start + bytes };
    const range = { start, end: start + bytes };
    const key = chunkKey({ version, range });
    const chunk = new Chunk(key, buffer, version, digest, generation);
    keep(chunk, index);
    chunk.release();
  }

  /** The answer has ended cleanly. @throws MillraceError if it is shorter than it was */
  #complete(): void {
    const { chunkBytes, digests } = this.#options;
    if (this.#position < this.#received) throw changed();
    if (this.length !== undefined && this.#position !== this.length) throw changed();
    this.length = this.#position;
    const rest = this.#position % chunkBytes;
    if (rest > 0) this.#chunk(this.#position - rest, rest);
    if (digests.count !== Math.ceil(this.#position / chunkBytes)) throw changed();
  }

  #mayRun(): boolean {
    if (this.#position < this.#received) return true;
    if (this.#positions.size === 0) return this.#received < this.#aloneUntil;
    const limit = mayRunTo(this.#positions.values(), this.#options.aheadBytes, this.keeps);
    return this.#received < limit;
  }

  #goOn(): void {
    if (this.#ended) return;
    if (this.#mayRun()) {
      if (!this.#paused) return;
      this.#paused = false;
      this.#resume();
    } else if (this.#positions.size === 0) this.#abandon();
  }

  #abandon(): void {
    // All of it may have come: then only the end is missing.
    if (this.#received === this.length) {
      this.#paused = false;
      return this.#resume();
    }
    const leave = () => {
      this.#idle = undefined;
      if (this.#positions.size > 0) return;
      this.fail(new MillraceError('interrupted', 'nobody waits for the stream'));
    };
    if (!this.#lingers) return leave();
    this.#idle ??= setTimeout(leave, LINGER_MS).unref();
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  #end(error?: MillraceError): void {
    if (this.#ended) return;
    this.#ended = true;
    this.error = error;
    clearTimeout(this.#idle);
    this.#buffer?.release();
    this.#buffer = undefined;
    this.#options.onEnd(error);
    this.#wake();
  }
}

function changed(): MillraceError {
  return new MillraceError('version-changed', 'a second pass brings other bytes');
}
