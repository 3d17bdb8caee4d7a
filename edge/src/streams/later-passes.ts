/**
 * Later passes: a file that came in one stream is asked for again, once for all requests, when a
 * chunk of it has left the caches. Only chunks with the digests of the first pass are used.
 */

import { MillraceError } from '@millrace/shared/base/errors';
import { StreamDigests } from '@millrace/shared/cdn/chunks/stream-plan';
import type { AttemptObserver } from '@millrace/shared/cdn/fetch/competing-fetch';
import type { Chunk } from '../files/chunk.ts';
import type { ChunkBuffer, ChunkMemory } from '../files/chunk-memory.ts';
import type { ChunkRequest } from '../files/chunk-request.ts';
import { RunningStream } from './running-stream.ts';
import type { Follower, StreamBody } from './stream-types.ts';

export interface LaterPassesOptions {
  readonly memory: ChunkMemory;
  readonly chunkBytes: number;
  readonly aheadBytes: number;
  readonly maxBytes: number;
  readonly keep: (chunk: Chunk) => void;
  /** Present generation of purges. */
  readonly generation: () => number;
  readonly again: (request: ChunkRequest, signal: AbortSignal) => Promise<StreamBody>;
  readonly onOriginBytes: (count: number) => void;
  readonly onEnd: (complete: boolean) => void;
  /** Called with bytes that the origin has to send before those that a client has asked for. */
  readonly onSkipped: (client: string, bytes: number) => void;
}

/** Time for which a pass waits for its next request, milliseconds. */
const IDLE_MS = 30_000;

interface Waiter {
  readonly resolve: (chunk: ChunkBuffer) => void;
  readonly reject: (error: unknown) => void;
}

interface Pass {
  readonly stream: RunningStream;
  /** Keeps the pass running between requests, at the farthest chunk that was requested. */
  readonly follower: Follower;
  readonly waiters: Map<number, Set<Waiter>>;
  idle: NodeJS.Timeout | undefined;
  /** Position up to which somebody pays for the pass. */
  paidTo: number;
}

export class LaterPasses {
  readonly #options: LaterPassesOptions;
  readonly #passes = new Map<string, Pass>();

  constructor(options: LaterPassesOptions) {
    this.#options = options;
  }

  get running(): number {
    return this.#passes.size;
  }

  /**
   * Fetches a chunk by the pass under way, or a new one. The memory belongs to the caller.
   *
   * @param digests of all chunks of the version
   * @throws MillraceError `version-changed` if the origin has other bytes by now
   */
  async fetch(
    request: ChunkRequest,
    digests: string,
    signal: AbortSignal,
    observer: AttemptObserver,
  ): Promise<ChunkBuffer> {
    const { version, range } = request;
    const index = Math.floor(range.start / this.#options.chunkBytes);
    // The pass has left a chunk behind that it brought before it was wanted: only another one helps.
    let pass = this.#passes.get(version.tag);
    if (pass !== undefined && pass.stream.received > range.start) {
      if (pass.waiters.size === 0) pass.stream.fail(new MillraceError('interrupted', 'too far'));
      await ended(pass.stream, signal, observer);
      pass = this.#passes.get(version.tag);
    }
    pass ??= this.#begin(request, digests);
    const skipped = range.start - pass.paidTo;
    if (skipped > 0 && request.client !== undefined) {
      this.#options.onSkipped(request.client, skipped);
    }
    pass.paidTo = Math.max(pass.paidTo, range.end);
    return this.#wait(pass, index, range.end, signal, observer);
  }

  #begin(request: ChunkRequest, digests: string): Pass {
    const { version } = request;
    const { again, onEnd, keep, memory } = this.#options;
    const waiters: Pass['waiters'] = new Map();
    const stream = new RunningStream({
      ...this.#options,
      version,
      digests: new StreamDigests(digests),
      generation: this.#options.generation(),
      again: (signal) => again(request, signal),
      keep: (chunk, index) => {
        const waiting = waiters.get(index);
        waiters.delete(index);
        if (waiting === undefined) return keep(chunk);
        for (const waiter of waiting) {
          // The store keeps what a request has brought.
          try {
            const own = memory.allocate(chunk.data.length);
            chunk.data.copy(own.data);
            waiter.resolve(own);
          } catch (error) {
            waiter.reject(error);
          }
        }
      },
      onEnd: (error) => {
        this.#passes.delete(version.tag);
        clearTimeout(pass.idle);
        onEnd(error === undefined);
        const reason = error ?? new MillraceError('version-changed', 'it has become shorter');
        for (const waiting of waiters.values()) for (const { reject } of waiting) reject(reason);
      },
    });
    const pass: Pass = { stream, follower: stream.follow(), waiters, idle: undefined, paidTo: 0 };
    this.#passes.set(version.tag, pass);
    again(request, stream.stopped).then(
      (response) => {
        if (stream.ended) response.discard();
        else stream.run(response);
      },
      (error: unknown) => stream.fail(error as MillraceError),
    );
    return pass;
  }

  async #wait(
    pass: Pass,
    index: number,
    end: number,
    signal: AbortSignal,
    observer: AttemptObserver,
  ): Promise<ChunkBuffer> {
    const { stream, follower, waiters } = pass;
    clearTimeout(pass.idle);
    follower.at(end);
    let seen = stream.received;
    const watch = setInterval(() => {
      // The request makes progress as long as the stream does.
      if (stream.received > seen) observer.onBytes(0);
      seen = stream.received;
    }, 500);
    const waiting = waiters.get(index) ?? new Set();
    waiters.set(index, waiting);
    let waiter: Waiter | undefined;
    let abort = () => {};
    try {
      return await new Promise<ChunkBuffer>((resolve, reject) => {
        waiter = { resolve, reject };
        waiting.add(waiter);
        abort = () => reject(signal.reason);
        if (signal.aborted) abort();
        signal.addEventListener('abort', abort, { once: true });
      });
    } finally {
      clearInterval(watch);
      signal.removeEventListener('abort', abort);
      if (waiter !== undefined) waiting.delete(waiter);
      if (waiting.size === 0 && waiters.get(index) === waiting) waiters.delete(index);
      if (waiters.size === 0 && !stream.ended) {
        clearTimeout(pass.idle);
        // Before its answer there is nothing to go on with for a later request.
        if (!stream.begun) stream.fail(new MillraceError('interrupted', 'nobody waits for it'));
        else pass.idle = setTimeout(() => follower.leave(), IDLE_MS).unref();
      }
    }
  }
}

/** Waits for the end of a stream. @throws the signal's reason */
async function ended(
  stream: RunningStream,
  signal: AbortSignal,
  observer: AttemptObserver,
): Promise<void> {
  while (!stream.ended) {
    await stream.changed(signal);
    observer.onBytes(0);
  }
}
