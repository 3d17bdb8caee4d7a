/**
 * Reads a file for a striped upload in a thread (`stripe-worker.ts`), and hands out what each depot
 * stores of it. Two rows are in memory at most, so the slowest depot that takes part sets the pace.
 */

import { Worker } from 'node:worker_threads';
import { MillraceError } from '@millrace/shared/base/errors';
import type { StripeDigests, StripeMessage, StripeTask } from './stripe-worker.ts';

/** Rows that are read ahead of the depots, or are being sent. */
const ROWS_AHEAD = 2;

/** The part of a row that one depot stores. */
interface Waiting {
  readonly row: number;
  readonly piece: Uint8Array;
}

/** Bytes that were read for one depot, and that nobody has taken yet. */
class Lane {
  readonly waiting: Waiting[] = [];
  isOpen = true;
  wake: (() => void) | undefined;

  /** Resolves when something comes, or the lane is closed. */
  onChange(): Promise<void> {
    return new Promise((resolve) => {
      this.wake = resolve;
    });
  }
}

export class StripeReader {
  readonly #worker: Worker;
  readonly #lanes: readonly Lane[];
  /** Depots that have not taken a row, by its number. */
  readonly #untaken = new Map<number, Set<Lane>>();
  readonly #ended = Promise.withResolvers<StripeDigests | undefined>();
  #failure: MillraceError | undefined;
  #isRead = false;

  /** @param depots indices of those that take part, of all */
  constructor(task: StripeTask, depots: readonly number[]) {
    this.#lanes = Array.from({ length: task.data + task.parity }, () => new Lane());
    for (const [i, lane] of this.#lanes.entries()) lane.isOpen = depots.includes(i);
    this.#worker = new Worker(new URL('./stripe-worker.ts', import.meta.url), {
      workerData: task,
      resourceLimits: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 4 },
    });
    this.#worker.on('message', (message: StripeMessage) => this.#onMessage(message));
    this.#worker.on('error', (cause) => {
      this.#fail(new MillraceError('internal', 'the reading thread has ended', { cause }));
    });
    // The end may fail before anybody waits for it.
    this.#ended.promise.catch(() => {});
    for (let i = 0; i < ROWS_AHEAD; i++) this.#worker.postMessage(0);
  }

  /**
   * Resolves with the digests when all rows have been read; undefined if none were asked for.
   *
   * @throws MillraceError `file-has-changed`
   */
  get ended(): Promise<StripeDigests | undefined> {
    return this.#ended.promise;
  }

  /**
   * Reads a depot's stream from the beginning of the first row that is read.
   *
   * @throws MillraceError `file-has-changed`
   */
  async *stream(depot: number): AsyncGenerator<Uint8Array, void, undefined> {
    const lane = this.#lanes[depot] as Lane;
    while (lane.isOpen) {
      if (this.#failure !== undefined) throw this.#failure;
      const next = lane.waiting.shift();
      if (next === undefined && this.#isRead) return;
      if (next === undefined) await lane.onChange();
      else {
        yield next.piece;
        this.#onTaken(next.row, lane);
      }
    }
  }

  /** Lets a depot go, which keeps no others waiting from then on. */
  leave(depot: number): void {
    const lane = this.#lanes[depot] as Lane;
    lane.isOpen = false;
    lane.waiting.length = 0;
    lane.wake?.();
    for (const row of [...this.#untaken.keys()]) this.#onTaken(row, lane);
  }

  /** Ends the thread. */
  async close(): Promise<void> {
    this.#fail(new MillraceError('interrupted'));
    await this.#worker.terminate();
  }

  #onMessage(message: StripeMessage): void {
    if (message.kind === 'changed') {
      this.#fail(new MillraceError('file-has-changed', message.why));
    } else if (message.kind === 'end') {
      this.#isRead = true;
      this.#ended.resolve(message.digests);
      for (const lane of this.#lanes) lane.wake?.();
    } else {
      const { row, pieces } = message;
      const open = this.#lanes.filter(({ isOpen }) => isOpen);
      this.#untaken.set(row, new Set(open));
      for (const [depot, lane] of this.#lanes.entries()) {
        if (!lane.isOpen) continue;
        lane.waiting.push({ row, piece: pieces[depot] as Uint8Array });
        lane.wake?.();
      }
      if (open.length === 0) this.#onRowTaken(row);
    }
  }

  #onTaken(row: number, lane: Lane): void {
    const untaken = this.#untaken.get(row);
    if (untaken?.delete(lane) && untaken.size === 0) this.#onRowTaken(row);
  }

  #onRowTaken(row: number): void {
    this.#untaken.delete(row);
    this.#worker.postMessage(0);
  }

  #fail(error: MillraceError): void {
    this.#failure ??= error;
    this.#ended.reject(this.#failure);
    for (const lane of this.#lanes) lane.wake?.();
  }
}
