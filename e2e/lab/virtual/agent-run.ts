/**
 * One response of an edge, in whichever world: the project's agent (`Transfer` with its window,
 * timer and hedging) fetches chunks and hands them to the client, and what happened to each chunk is
 * written down. The world says what time it is, and how chunks travel.
 */

import type { Millis, Random } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { isHedgeJustified } from '@millrace/shared/cdn/hedge';
import { RetryTimer } from '@millrace/shared/cdn/retry-timer';
import { Transfer, type TransferAction } from '@millrace/shared/cdn/transfer';
import type { CongestionWindow } from '@millrace/shared/cdn/window';

/** What becomes of one request for a chunk. */
export interface FetchObserver {
  onBytes(count: number): void;
  /** The chunk is there. */
  onDone(): void;
  onFailed(): void;
}

export interface World {
  now(): Millis;
  at(time: Millis, run: () => void): void;
  /** Asks for a chunk; the node depends on the attempt. @returns what cancels the request */
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

/** What happened to one chunk. */
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
  readonly #o: AgentRunOptions;
  readonly #transfer: Transfer;
  readonly #timer = new RetryTimer();
  /** Requests under way, by slice: attempt and what cancels it. */
  readonly #requests = new Map<number, Map<number, () => void>>();
  /** Bytes and time of the request of a slice that is farthest. */
  readonly #progress = new Map<number, { startedAt: Millis; bytes: number; at: Millis }>();
  #sendQueue: number[] = [];
  #sending = false;
  #lastSent: number | undefined;
  #wakeAt = Number.POSITIVE_INFINITY;
  readonly traces: ChunkTrace[] = [];
  requests = 0;
  /** Most chunks under way or held at a time. */
  mostHeld = 0;
  done = false;
  failure: MillraceError | undefined;
  onEnd: () => void = () => {};

  constructor(options: AgentRunOptions) {
    this.#o = options;
    const { chunks, window, inOrder, random } = options;
    this.#transfer = new Transfer({
      slices: chunks,
      inOrder,
      window,
      timer: this.#timer,
      random,
      progressAt: (slice) => {
        const progress = this.#progress.get(slice);
        return progress === undefined || progress.bytes === 0 ? undefined : progress.at;
      },
    });
  }

  /** Fetches and sends; begins at once. */
  advance(): void {
    const { world } = this.#o;
    for (;;) {
      const actions = this.#transfer.step(world.now());
      if (actions.length === 0) break;
      for (const action of actions) this.#carryOut(action);
    }
    const at = this.#transfer.nextDeadline();
    if (at === undefined || at >= this.#wakeAt || this.done) return;
    this.#wakeAt = at;
    world.at(at, () => {
      if (this.#wakeAt !== at) return;
      this.#wakeAt = Number.POSITIVE_INFINITY;
      this.advance();
    });
  }

  #carryOut(action: TransferAction): void {
    if (action.kind === 'fetch') return this.#begin(action.slice, action.attempt);
    if (action.kind === 'cancel') {
      const requests = this.#requests.get(action.slice);
      requests?.get(action.attempt)?.();
      requests?.delete(action.attempt);
      return;
    }
    if (action.kind === 'send') {
      this.#sendQueue.push(action.slice);
      return this.#send();
    }
    if (action.kind === 'fail') this.failure = action.error;
    this.done = true;
    for (const requests of this.#requests.values())
      for (const cancel of requests.values()) cancel();
    this.onEnd();
  }

  #begin(slice: number, attempt: number): void {
    const now = this.#o.world.now();
    const requests = this.#requests.get(slice) ?? new Map<number, () => void>();
    this.#requests.set(slice, requests);
    if (this.traces[slice] === undefined) {
      this.traces[slice] = { startedAt: now, after: this.#lastSent, readyAt: 0, sentAt: 0 };
      this.mostHeld = Math.max(
        this.mostHeld,
        slice + 1 - this.traces.filter((t) => t?.sentAt).length,
      );
      this.#progress.set(slice, { startedAt: now, bytes: 0, at: now });
    }
    if (attempt === 0) return this.#fetch(slice, attempt);
    requests.set(attempt, () => {});
    this.#hedge(slice, attempt);
  }

  /** A chunk is late: another node is asked as soon as that is worth its bytes. */
  #hedge(slice: number, attempt: number): void {
    const { world, chunkBytes } = this.#o;
    const progress = this.#progress.get(slice);
    if (progress === undefined || this.#requests.get(slice)?.has(attempt) !== true) return;
    const now = world.now();
    const state = {
      elapsedMs: now - progress.startedAt,
      idleMs: now - progress.at,
      receivedBytes: progress.bytes,
      totalBytes: chunkBytes,
      sameWay: false,
    };
    if (isHedgeJustified(state, this.#timer.timeoutMs(0))) return this.#fetch(slice, attempt);
    world.at(now + WATCH_MS, () => this.#hedge(slice, attempt));
  }

  #fetch(slice: number, attempt: number): void {
    const { world } = this.#o;
    this.requests++;
    let bytes = 0;
    const isWanted = () => this.#requests.get(slice)?.has(attempt) === true;
    const cancel = world.fetch(slice, attempt, {
      onBytes: (count) => {
        const progress = this.#progress.get(slice);
        bytes += count;
        if (progress === undefined || bytes < progress.bytes) return;
        progress.bytes = bytes;
        progress.at = world.now();
      },
      onDone: () => {
        if (!isWanted()) return;
        this.#requests.get(slice)?.delete(attempt);
        this.#fetched(slice, attempt);
      },
      onFailed: () => {
        if (!isWanted()) return;
        this.#requests.get(slice)?.delete(attempt);
        this.#transfer.onFailed(slice, attempt, new MillraceError('origin-reset'), world.now());
        this.advance();
      },
    });
    this.#requests.get(slice)?.set(attempt, cancel);
  }

  #fetched(slice: number, attempt: number): void {
    const now = this.#o.world.now();
    const trace = this.traces[slice] as ChunkTrace;
    if (trace.readyAt === 0) trace.readyAt = now;
    for (const a of this.#transfer.onFetched(slice, attempt, now, false)) this.#carryOut(a);
    this.#progress.delete(slice);
    this.advance();
  }

  /** One chunk after the other. */
  #send(): void {
    const slice = this.#sendQueue[0];
    if (this.#sending || slice === undefined) return;
    this.#sending = true;
    this.#o.world.send(slice, () => {
      this.#sending = false;
      this.#sendQueue.shift();
      (this.traces[slice] as ChunkTrace).sentAt = this.#o.world.now();
      this.#lastSent = slice;
      this.#transfer.onSent(slice);
      this.#send();
      this.advance();
    });
  }
}
