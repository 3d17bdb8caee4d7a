/**
 * One response of an edge, in any world: the project's agent (`DeliveryMachine` with its window,
 * timer and hedging) fetches chunks and hands them to the client, and the history of each chunk is
 * recorded. The world provides the clock, and the travel of chunks.
 */

import type { Millis, Random } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { DeliveryDriver } from '@millrace/shared/cdn/delivery/delivery-driver';
import { RetryTimer } from '@millrace/shared/cdn/delivery/retry-timer';
import type { CongestionWindow } from '@millrace/shared/cdn/delivery/window';
import { isHedgeJustified } from '@millrace/shared/cdn/fetch/hedge';

/** Told of the fate of one request for a chunk. */
export interface FetchObserver {
  onBytes(count: number): void;
  /** The chunk is there. */
  onDone(): void;
  onFailed(): void;
}

export interface World {
  now(): Millis;
  at(time: Millis, run: () => void): void;
  /**
   * Asks for a chunk; the node depends on the attempt. @returns a function that cancels the request
   */
  fetch(chunk: number, attempt: number, observer: FetchObserver): () => void;
  /** Hands a chunk to the client; `sent` is called when it has taken it. */
  send(chunk: number, sent: () => void): void;
}

export interface AgentRunOptions {
  readonly world: World;
  readonly chunks: number;
  readonly chunkBytes: number;
  readonly window: CongestionWindow;
  readonly inOrder: boolean;
  readonly random: Random;
}

/** History of one chunk. */
export interface ChunkTrace {
  readonly startedAt: Millis;
  /** The chunk whose end made room in the window; undefined: the window had room by itself. */
  readonly after: number | undefined;
  readyAt: Millis;
  sentAt: Millis;
}

/** How often a chunk that is late is looked at again, as edges do. */
const WATCH_MS = 200;

export class AgentRun {
  readonly #options: AgentRunOptions;
  readonly #driver: DeliveryDriver;
  readonly #timer = new RetryTimer();
  /** Bytes and time of the request of a slice that is farthest. */
  readonly #progress = new Map<number, { startedAt: Millis; bytes: number; at: Millis }>();
  #sendQueue: number[] = [];
  #sending = false;
  #lastSent: number | undefined;
  readonly traces: ChunkTrace[] = [];
  requests = 0;
  /** Most chunks under way or held at a time. */
  mostHeld = 0;
  done = false;
  failure: MillraceError | undefined;
  onEnd: () => void = () => {};

  constructor(options: AgentRunOptions) {
    this.#options = options;
    const { chunks, window, inOrder, random, world } = options;
    this.#driver = new DeliveryDriver(
      {
        slices: chunks,
        inOrder,
        window,
        timer: this.#timer,
        random,
        progressAt: (slice) => {
          const progress = this.#progress.get(slice);
          return progress === undefined || progress.bytes === 0 ? undefined : progress.at;
        },
      },
      {
        now: () => world.now(),
        at: (time, run) => {
          world.at(time, run);
          return () => {};
        },
        fetch: (slice, attempt) => this.#begin(slice, attempt),
        send: (slice) => {
          this.#sendQueue.push(slice);
          this.#send();
        },
        ended: (error) => {
          this.failure = error;
          this.done = true;
          this.onEnd();
        },
      },
    );
  }

  /** Fetches and sends; begins at once. */
  advance(): void {
    this.#driver.advance();
  }

  #begin(slice: number, attempt: number): () => void {
    const now = this.#options.world.now();
    if (this.traces[slice] === undefined) {
      this.traces[slice] = { startedAt: now, after: this.#lastSent, readyAt: 0, sentAt: 0 };
      this.mostHeld = Math.max(
        this.mostHeld,
        slice + 1 - this.traces.filter((t) => t?.sentAt).length,
      );
      this.#progress.set(slice, { startedAt: now, bytes: 0, at: now });
    }
    if (attempt === 0) return this.#fetch(slice, attempt);
    let cancel = () => {};
    this.#hedge(slice, attempt, () => {
      cancel = this.#fetch(slice, attempt);
    });
    return () => cancel();
  }

  /** A chunk is late: another node is asked as soon as that is worth its bytes. */
  #hedge(slice: number, attempt: number, ask: () => void): void {
    const { world, chunkBytes } = this.#options;
    const progress = this.#progress.get(slice);
    if (progress === undefined || !this.#driver.wants(slice, attempt)) return;
    const now = world.now();
    const state = {
      elapsedMs: now - progress.startedAt,
      idleMs: now - progress.at,
      receivedBytes: progress.bytes,
      totalBytes: chunkBytes,
      patience: 1,
    };
    if (isHedgeJustified(state, this.#timer.timeoutMs(0))) return ask();
    world.at(now + WATCH_MS, () => this.#hedge(slice, attempt, ask));
  }

  #fetch(slice: number, attempt: number): () => void {
    const { world } = this.#options;
    this.requests++;
    let bytes = 0;
    return world.fetch(slice, attempt, {
      onBytes: (count) => {
        const progress = this.#progress.get(slice);
        bytes += count;
        if (progress === undefined || bytes < progress.bytes) return;
        progress.bytes = bytes;
        progress.at = world.now();
      },
      onDone: () => {
        if (!this.#driver.wants(slice, attempt)) return;
        const trace = this.traces[slice] as ChunkTrace;
        if (trace.readyAt === 0) trace.readyAt = world.now();
        this.#progress.delete(slice);
        this.#driver.fetched(slice, attempt, false);
      },
      onFailed: () => this.#driver.failed(slice, attempt, new MillraceError('origin-reset')),
    });
  }

  /** One chunk after the other. */
  #send(): void {
    const slice = this.#sendQueue[0];
    if (this.#sending || slice === undefined) return;
    this.#sending = true;
    this.#options.world.send(slice, () => {
      this.#sending = false;
      this.#sendQueue.shift();
      (this.traces[slice] as ChunkTrace).sentAt = this.#options.world.now();
      this.#lastSent = slice;
      this.#driver.sent(slice);
      this.#send();
    });
  }
}
