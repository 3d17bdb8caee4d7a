/**
 * One response of an edge, in any world: the project's agent (`DeliveryMachine` with its window,
 * timer and hedging) fetches chunks, sends them to the client, and records the history of each
 * chunk. The world provides the time and transports chunks.
 */

import type { Millis, Random } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { DeliveryDriver } from '@millrace/shared/cdn/delivery/delivery-driver';
import { RetryTimer } from '@millrace/shared/cdn/delivery/retry-timer';
import type { CongestionWindow } from '@millrace/shared/cdn/delivery/window';
import { isHedgeJustified } from '@millrace/shared/cdn/fetch/hedge';

/** Observer of one request for a chunk. */
export interface FetchObserver {
  onBytes(count: number): void;
  /** Called when the chunk is complete. */
  onDone(): void;
  onFailed(): void;
}

export interface World {
  now(): Millis;
  at(time: Millis, run: () => void): void;
  /** Requests a chunk; the node depends on the attempt. @returns a function that cancels it */
  fetch(chunk: number, attempt: number, observer: FetchObserver): () => void;
  /** Sends a chunk to the client, and calls `sent` when the client has received it. */
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
  /** The chunk whose end made room in the window; undefined: the window had room already. */
  readonly after: number | undefined;
  readyAt: Millis;
  sentAt: Millis;
}

/** Time between two checks of a late chunk, as in edges. */
const WATCH_MS = 200;

export class AgentRun {
  readonly #options: AgentRunOptions;
  readonly #driver: DeliveryDriver;
  readonly #timer = new RetryTimer();
  /** Progress of the most advanced request for each slice. */
  readonly #progress = new Map<number, { startedAt: Millis; bytes: number; at: Millis }>();
  #sendQueue: number[] = [];
  #sending = false;
  #lastSent: number | undefined;
  readonly traces: ChunkTrace[] = [];
  requests = 0;
  /** Most chunks under way or in memory at a time. */
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

  /** Starts fetching and sending. */
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

  /** Handles a late chunk: requests it from another node once that is worth the bytes. */
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

  /** Sends one chunk after the other. */
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
