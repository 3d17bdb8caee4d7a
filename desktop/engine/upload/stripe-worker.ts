/**
 * A thread that reads a file row by row for a striped upload: it computes parity and digests, and
 * gives each row to the thread that serves connections. It answers a `StripeReader`. Of an encrypted
 * file the reader gives it the ciphertext: keys stay out of this thread.
 */

import { createHash, type Hash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { ReedSolomon } from '@millrace/shared/code/reed-solomon';
import { blockBytesFor } from '@millrace/shared/exnode/exnode';
import { Stripe } from '@millrace/shared/exnode/stripe';
import { fastestKernel } from '@millrace/shared/node/code/gf-kernel';
import type { FileState } from '../archive/upload-source.ts';

/** The file that the thread reads, and how it is coded. */
export interface StripeTask {
  /** Undefined if it is not read here, and whoever reads it sees whether it changes. */
  readonly path: string | undefined;
  /** The file must be in this state, from the first byte to the last. */
  readonly state: FileState;
  readonly data: number;
  readonly parity: number;
  /** The first row. */
  readonly from: number;
  /** True to compute digests as well: the first row is 0. */
  readonly digests: boolean;
  /** True if the data of each row comes with the message that asks for it. */
  readonly isGiven: boolean;
  /** True if the data is ciphertext, whose digests are known. */
  readonly isEncrypted: boolean;
}

/** Asks for one more row. @property the data shards of the row, if they are given */
export type StripeAsk = readonly Uint8Array[] | undefined;

/** Digests of a striped file; all SHA-256 in lower-case hexadecimal. */
export interface StripeDigests {
  /** Of the file; empty if it is encrypted. */
  readonly sha256: string;
  /** Of each block of the file; empty if it is encrypted. */
  readonly blocks: readonly string[];
  /** Of each block of the parity shards: rows, then shards, then blocks of the row's unit. */
  readonly parity: readonly (readonly (readonly string[])[])[];
  /** Of the stream of each depot. */
  readonly streams: readonly string[];
}

export type StripeMessage =
  /** A row: what each depot stores of it. */
  | { readonly kind: 'row'; readonly row: number; readonly pieces: readonly Uint8Array[] }
  | { readonly kind: 'end'; readonly digests: StripeDigests | undefined }
  | { readonly kind: 'changed'; readonly why: string };

class StripeReading {
  readonly #task: StripeTask;
  readonly #fd: number | undefined;
  readonly #stripe: Stripe;
  readonly #code: ReedSolomon;
  readonly #blockBytes: number;
  readonly #file: Hash | undefined;
  readonly #streams: readonly Hash[];
  readonly #blocks: string[] = [];
  readonly #parity: string[][][] = [];
  #row: number;
  isOver = false;

  constructor(task: StripeTask) {
    const { path, state, data, parity, from, digests, isEncrypted } = task;
    this.#task = task;
    this.#fd = path === undefined ? undefined : openSync(path, 'r');
    this.#stripe = new Stripe(state.bytes, data, parity);
    this.#code = new ReedSolomon(data, parity, fastestKernel());
    this.#blockBytes = blockBytesFor(state.bytes);
    this.#row = from;
    this.#file = digests && !isEncrypted ? createHash('sha256') : undefined;
    const streams = digests ? this.#stripe.depots : 0;
    this.#streams = Array.from({ length: streams }, () => createHash('sha256'));
  }

  /**
   * Reads the next row, or tells that all have been read.
   *
   * @param given data of the row, which is not read then
   * @throws Error if the file has changed
   */
  next(given: StripeAsk): StripeMessage {
    const row = this.#row;
    if (row === this.#task.from) this.#checkState();
    if (row >= this.#stripe.rows) {
      this.isOver = true;
      if (this.#fd !== undefined) closeSync(this.#fd);
      return { kind: 'end', digests: this.#digests() };
    }
    this.#row++;
    const { data, depots } = this.#stripe;
    const shards = Array.from(
      { length: depots },
      (_, shard) => given?.[shard] ?? new Uint8Array(this.#stripe.pieceBytes(row, shard)),
    );
    if (given === undefined) {
      let at = this.#stripe.rowRange(row).start;
      for (const shard of shards.slice(0, data)) {
        this.#read(shard, at);
        at += shard.length;
      }
    }
    // The last row is given out only if the file is still the same: it completes the uploads.
    if (row === this.#stripe.rows - 1) this.#checkState();
    this.#code.encode(shards.slice(0, data), shards.slice(data));
    const pieces = shards.map(
      (_, depot) => shards[this.#stripe.shardAt(depot, row)] as Uint8Array<ArrayBuffer>,
    );
    if (this.#task.digests) this.#hash(shards, pieces);
    return { kind: 'row', row, pieces };
  }

  #hash(shards: readonly Uint8Array[], pieces: readonly Uint8Array[]): void {
    if (this.#file !== undefined) {
      for (const shard of shards.slice(0, this.#stripe.data)) {
        this.#file.update(shard);
        this.#blocks.push(...this.#blockDigests(shard));
      }
    }
    this.#parity.push(shards.slice(this.#stripe.data).map((shard) => this.#blockDigests(shard)));
    for (const [depot, piece] of pieces.entries()) this.#streams[depot]?.update(piece);
  }

  #blockDigests(shard: Uint8Array): string[] {
    const hexes: string[] = [];
    for (let at = 0; at < shard.length; at += this.#blockBytes) {
      const block = shard.subarray(at, at + this.#blockBytes);
      hexes.push(createHash('sha256').update(block).digest('hex'));
    }
    return hexes;
  }

  #digests(): StripeDigests | undefined {
    if (!this.#task.digests) return undefined;
    return {
      sha256: this.#file?.digest('hex') ?? '',
      blocks: this.#blocks,
      parity: this.#parity,
      streams: this.#streams.map((hash) => hash.digest('hex')),
    };
  }

  #read(into: Uint8Array, start: number): void {
    for (let got = 0; got < into.length; ) {
      const count = readSync(this.#fd as number, into, got, into.length - got, start + got);
      if (count === 0) throw new Error('it has become shorter');
      got += count;
    }
  }

  #checkState(): void {
    if (this.#fd === undefined) return;
    const { size, mtimeMs } = fstatSync(this.#fd);
    const { bytes, mtimeMs: before } = this.#task.state;
    if (size !== bytes || mtimeMs !== before) throw new Error('it has been written to');
  }
}

let reading: StripeReading | undefined;

// Each message asks for one more row.
parentPort?.on('message', (given: StripeAsk) => {
  let message: StripeMessage;
  try {
    reading ??= new StripeReading(workerData as StripeTask);
    if (reading.isOver) return;
    message = reading.next(given);
  } catch (error) {
    message = { kind: 'changed', why: (error as Error).message };
  }
  const pieces = message.kind === 'row' ? message.pieces : [];
  parentPort?.postMessage(
    message,
    pieces.map(({ buffer }) => buffer as ArrayBuffer),
  );
});
