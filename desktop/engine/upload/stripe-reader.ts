/**
 * Reads a file for a striped upload in a thread (`stripe-worker.ts`), and hands out what each depot
 * stores of it. Two rows are in memory at most, so the slowest depot that takes part sets the pace.
 * Of an encrypted file it hands out the ciphertext, and parity is that of the ciphertext. What no one
 * file has, ciphertext or the tar of a folder, is read here and given to the thread.
 */

import { Worker } from 'node:worker_threads';
import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { Stripe } from '@millrace/shared/exnode/stripe';
import type { StripeAsk, StripeDigests, StripeMessage, StripeTask } from './stripe-worker.ts';

/** Rows that are read ahead of the depots, or are being sent. */
const ROWS_AHEAD = 2;

/** Reads data that is given to the thread. */
export interface GivenData {
  readonly isEncrypted: boolean;
  /** Reads at least one byte and at most the wanted ones. */
  read(position: number, bytes: number): Promise<Buffer>;
  /** Called before the last row is given away. @throws MillraceError `file-has-changed` */
  check(): Promise<void>;
}

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
  readonly #stripe: Stripe;
  readonly #given: GivenData | undefined;
  /** The next row that is asked for, and the row that is being read here. */
  #row: number;
  #giving: Promise<void> = Promise.resolve();
  #failure: MillraceError | undefined;
  #isRead = false;

  /**
   * @param depots indices of those that take part, of all
   * @param given reads what the thread does not read itself
   */
  constructor(
    task: Omit<StripeTask, 'isGiven' | 'isEncrypted'>,
    depots: readonly number[],
    given?: GivenData,
  ) {
    this.#stripe = new Stripe(task.state.bytes, task.data, task.parity);
    this.#given = given;
    this.#row = task.from;
    this.#lanes = Array.from({ length: task.data + task.parity }, () => new Lane());
    for (const [i, lane] of this.#lanes.entries()) lane.isOpen = depots.includes(i);
    this.#worker = new Worker(new URL('./stripe-worker.ts', import.meta.url), {
      workerData: {
        ...task,
        isGiven: given !== undefined,
        isEncrypted: given?.isEncrypted === true,
      } satisfies StripeTask,
      resourceLimits: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 4 },
    });
    this.#worker.on('message', (message: StripeMessage) => this.#onMessage(message));
    this.#worker.on('error', (cause) => {
      this.#fail(new MillraceError('internal', 'the reading thread has ended', { cause }));
    });
    // The end may fail before anybody waits for it.
    this.#ended.promise.catch(() => {});
    for (let i = 0; i < ROWS_AHEAD; i++) this.#ask();
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
    await this.#giving;
  }

  /** Asks the thread for one more row. */
  #ask(): void {
    const given = this.#given;
    if (given === undefined) this.#post(undefined);
    else {
      const giving = this.#giving.then(async () => this.#post(await this.#readRow(given)));
      this.#giving = giving.catch((error: unknown) => this.#fail(asMillraceError(error)));
    }
  }

  #post(data: StripeAsk): void {
    const buffers = (data ?? []).map(({ buffer }) => buffer as ArrayBuffer);
    this.#worker.postMessage(data, buffers);
  }

  /** Reads the data shards of the next row; undefined behind the last one. */
  async #readRow(given: GivenData): Promise<StripeAsk> {
    const row = this.#row++;
    if (row >= this.#stripe.rows) return undefined;
    const shards: Uint8Array[] = [];
    let position = this.#stripe.rowRange(row).start;
    for (let shard = 0; shard < this.#stripe.data; shard++) {
      const bytes = new Uint8Array(this.#stripe.pieceBytes(row, shard));
      for (let at = 0; at < bytes.length; ) {
        if (this.#failure !== undefined) throw this.#failure;
        const piece = await given.read(position, bytes.length - at);
        bytes.set(piece, at);
        at += piece.length;
        position += piece.length;
      }
      shards.push(bytes);
    }
    // The last row completes the uploads.
    if (row === this.#stripe.rows - 1) await given.check();
    return shards;
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
    this.#ask();
  }

  #fail(error: MillraceError): void {
    this.#failure ??= error;
    this.#ended.reject(this.#failure);
    for (const lane of this.#lanes) lane.wake?.();
  }
}
