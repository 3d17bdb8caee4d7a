/**
 * The parity of an exNode as a source: it has the blocks that are to be solved, and computes them
 * from parity and from blocks that are stored. What it gives is proven as the bytes of any other.
 */

import { type ByteRange, rangeBytes } from '@millrace/shared/base/byte-range';
import { MillraceError } from '@millrace/shared/base/errors';
import { ReedSolomon, type Shard } from '@millrace/shared/code/reed-solomon';
import { type SolvedColumn, SolvedColumns } from '@millrace/shared/download/exnode/solved-columns';
import type { SourceHealth } from '@millrace/shared/download/transfer/source-health';
import { columnAt } from '@millrace/shared/exnode/coded';
import type { CodedExtent } from '@millrace/shared/exnode/exnode';
import {
  type Column,
  columnWith,
  type LostOf,
  lostColumns,
  type SolverState,
  solvableBlocks,
} from '@millrace/shared/exnode/row-solver';
import { fastestKernel } from '@millrace/shared/node/code/gf-kernel';
import { freeBytes } from '@millrace/shared/node/memory/free-bytes';
import type { Opened } from '../source-answer.ts';
import { keyOf, ParityAhead } from './parity-ahead.ts';
import type { ParityBlock, ParityBlocks } from './parity-blocks.ts';
import { PartSource } from './place-source.ts';

/** Bytes of each shard that are solved at a time, and handed on at a time. */
const PIECE_BYTES = 64 * 1024;
/** Most bytes of solved blocks that are kept for further requests; the latest column always is. */
const MAX_KEPT_BYTES = 32 * 1024 * 1024;
/** Most bytes that are solved at a time, from as much parity; one column always is. */
const MAX_AT_ONCE_BYTES = 24 * 1024 * 1024;

export interface CodedSourceOptions {
  readonly extents: readonly CodedExtent[];
  readonly blockBytes: number;
  readonly state: Omit<SolverState, 'parityOf'>;
  readonly parity: ParityBlocks;
  /**
   * Changes whenever a block turns out wrong, other places can be asked or are late, or a reader
   * begins or ends.
   */
  readonly stamp: () => string;
  /** Counts the bytes of a range that are proven. */
  readonly provenWithin: (range: ByteRange) => number;
  /** Returns true while stored blocks wait for their proof: more can be solved then. */
  readonly isProving: () => boolean;
  /** Called when a block begins to be solved. @returns what to call once it is */
  readonly onSolving: (block: ByteRange) => () => void;
  /** Reads bytes of the stream that are stored and proven. */
  readonly readStored: (into: Buffer, position: number) => Promise<number>;
  readonly health: SourceHealth;
}

/** Columns that are solved at a time: with more, each waits for the same depots for longer. */
const MOST_COLUMNS = 2;

/** A block that has been solved. */
interface SolvedBlock {
  readonly range: ByteRange;
  readonly bytes: Uint8Array;
}

/** Solved blocks of a column, by their position in the file. */
type Solved = ReadonlyMap<number, SolvedBlock>;

/** An extent as it was judged: the blocks and columns stay the same while the stamp does. */
interface Judged {
  readonly stamp: string;
  readonly solvable: readonly ByteRange[];
  readonly lost: readonly LostOf[];
}

export class CodedSource extends PartSource {
  readonly #options: CodedSourceOptions;
  readonly #kernel = fastestKernel();
  readonly #state: SolverState;
  readonly #ahead: ParityAhead;
  #parts: readonly ByteRange[] = [];
  /** Extents as they were judged last: a block that is proven has only its own extent judged anew. */
  readonly #judged = new Map<CodedExtent, Judged>();
  readonly #columns = new SolvedColumns<Solved>({
    mostAtOnce: MAX_AT_ONCE_BYTES,
    mostKept: MAX_KEPT_BYTES,
    isUseless: (solved) => [...solved.values()].every(({ range }) => this.#state.isProven(range)),
    onFree: (solved) => {
      for (const { bytes } of solved.values()) freeBytes(bytes);
    },
  });

  constructor(options: CodedSourceOptions) {
    super({ label: 'parity', url: 'http://parity.invalid/', health: options.health });
    this.#options = options;
    const { parity, blockBytes } = options;
    this.#ahead = new ParityAhead(parity, blockBytes);
    this.#state = { ...options.state, parityOf: (extent) => parity.of(extent) };
  }

  override get id(): string {
    return 'parity';
  }

  override get mostRequests(): number {
    return MOST_COLUMNS;
  }

  /** True until all stored blocks are proven, and while depots with parity rest after a failure. */
  override get mayHaveMore(): boolean {
    const { extents, parity, isProving } = this.#options;
    return isProving() || extents.some((extent) => parity.rests(extent));
  }

  /** The blocks that it can solve now, ascending. */
  override get parts(): readonly ByteRange[] {
    const { extents, parity, provenWithin } = this.#options;
    const common = this.#options.stamp();
    let isSame = true;
    for (const extent of extents) {
      const stamp = `${provenWithin(extent)} ${parity.of(extent).join()} ${common}`;
      if (this.#judged.get(extent)?.stamp === stamp) continue;
      isSame = false;
      this.#judged.set(extent, this.#judge(extent, stamp));
    }
    if (isSame) return this.#parts;
    const all = [...this.#judged.values()];
    // Extents with the same bytes may both be able to solve a block.
    const solvable = new Map(all.flatMap((one) => one.solvable).map((part) => [part.start, part]));
    this.#parts = [...solvable.values()].sort((a, b) => a.start - b.start);
    this.#ahead.want(all.flatMap(({ lost }) => lost));
    this.#columns.forgetUseless();
    return this.#parts;
  }

  #judge(extent: CodedExtent, stamp: string): Judged {
    const { blockBytes } = this.#options;
    const solvable = solvableBlocks([extent], blockBytes, this.#state);
    return { stamp, solvable, lost: lostColumns([extent], blockBytes, this.#state) };
  }

  /** Ends what it reads ahead. */
  end(): void {
    this.#ahead.end();
  }

  /**
   * Solves bytes of one block.
   *
   * @throws MillraceError if too little parity can be had; the signal's reason
   */
  override async openRange(
    asked: ByteRange,
    _pinned: unknown,
    signal: AbortSignal,
  ): Promise<Opened> {
    const { extents, blockBytes } = this.#options;
    const at = Math.floor(asked.start / blockBytes) * blockBytes;
    const { value: solved, release } = await this.#solved(extents, blockBytes, at, signal);
    const block = solved.get(at);
    if (block === undefined || asked.end > block.range.end) {
      release();
      throw new MillraceError('origin-error', 'these bytes cannot be solved now');
    }
    const bytes = block.bytes.subarray(asked.start - at, asked.end - at);
    return {
      ...{ kind: 'range', range: asked, version: this.version as NonNullable<typeof this.version> },
      ...{ headers: {}, checked: false, headMs: 0, isPlain: true },
      async read(sink) {
        try {
          for (let from = 0; from < bytes.length; from += PIECE_BYTES) {
            await sink(asked.start + from, bytes.subarray(from, from + PIECE_BYTES));
          }
        } finally {
          release();
        }
      },
      discard: release,
    };
  }

  /** Solves the column of a block, unless that has been done for another block of it. */
  async #solved(
    extents: readonly CodedExtent[],
    blockBytes: number,
    at: number,
    signal: AbortSignal,
  ): Promise<SolvedColumn<Solved>> {
    for (const extent of extents) {
      if (at < extent.start || at >= extent.end) continue;
      const key = keyOf(extent, columnAt(extent, blockBytes, at));
      const solved = await this.#columns.get(key, signal);
      if (solved?.value.has(at)) return solved;
      solved?.release();
    }
    signal.throwIfAborted();
    const column = columnWith(extents, blockBytes, at, this.#state);
    if (column === undefined) throw new MillraceError('origin-error', 'too little parity is left');
    const key = keyOf(column.extent, column.number);
    // No pause if there is none: the parity of requests that come together would be received twice.
    const coming = this.#columns.get(key, signal);
    const solved = coming && (await coming);
    if (solved?.value.has(at)) return solved;
    solved?.release();
    // Parity takes as much memory as what is solved from it.
    const bytes = column.lacking.length * blockBytes;
    return this.#columns.solve(key, bytes, signal, async (working) => {
      const ended = column.lacking.map(([, block]) => this.#options.onSolving(block));
      const blocks = await this.#solve(column, working);
      for (const end of ended) end();
      return blocks;
    });
  }

  async #solve(column: Column, signal: AbortSignal): Promise<Solved> {
    const { parity } = this.#options;
    const { extent, lacking } = column;
    if (lacking.length === 0) return new Map();
    const had = await this.#ahead.take(extent, column.number, signal);
    signal.throwIfAborted();
    const read = await parity.read(extent, column, lacking.length, signal, had);
    const solved = new Map(
      lacking.map(([, range]) => [
        range.start,
        { range, bytes: Buffer.allocUnsafeSlow(rangeBytes(range)) },
      ]),
    );
    try {
      await this.#compute(column, read, [...solved.values()], signal);
      return solved;
    } catch (error) {
      for (const { bytes } of solved.values()) freeBytes(bytes);
      throw error;
    } finally {
      for (const { bytes } of read) freeBytes(bytes);
    }
  }

  /**
   * Computes the blocks that a column lacks, piece by piece.
   *
   * @param solved their memory, in the order of the column
   */
  async #compute(
    { extent, known, lacking, range }: Column,
    parity: readonly ParityBlock[],
    solved: readonly SolvedBlock[],
    signal: AbortSignal,
  ): Promise<void> {
    const { readStored } = this.#options;
    const code = new ReedSolomon(extent.data, extent.parity, this.#kernel);
    const length = rangeBytes(range);
    // The same memory for all pieces: the collector lets tens of megabytes of new buffers gather.
    const scratch = () => Buffer.allocUnsafe(Math.min(length, PIECE_BYTES));
    const stored = known.map(([index, block]) => ({ index, block, room: scratch() }));
    const lacked = lacking.map(([index]) => ({ index, room: scratch() }));
    for (let at = 0; at < length; at += PIECE_BYTES) {
      const end = Math.min(length, at + PIECE_BYTES);
      const shards: Shard[] = parity.map((one) => ({
        index: extent.data + one.parity,
        bytes: one.bytes.subarray(at, end),
      }));
      for (const { index, block, room } of stored) {
        const own = block === undefined ? 0 : Math.min(end - at, rangeBytes(block) - at);
        const bytes = room.subarray(0, Math.max(0, own));
        if (block !== undefined && bytes.length > 0)
          await readAll(readStored, bytes, block.start + at);
        shards.push({ index, bytes });
      }
      const pieces = lacked.map(({ index, room }) => ({
        index,
        bytes: room.subarray(0, end - at),
      }));
      code.solve(shards, pieces);
      for (const [i, { bytes }] of pieces.entries()) {
        const own = (solved[i] as SolvedBlock).bytes;
        if (at < own.length) own.set(bytes.subarray(0, own.length - at), at);
      }
      signal.throwIfAborted();
    }
  }
}

/** Reads stored bytes. @throws MillraceError `origin-error` if they are not stored any more */
async function readAll(
  readStored: CodedSourceOptions['readStored'],
  into: Buffer,
  position: number,
): Promise<void> {
  for (let got = 0; got < into.length; ) {
    const count = await readStored(into.subarray(got), position + got);
    if (count === 0) throw new MillraceError('origin-error', { code: 'become-shorter' });
    got += count;
  }
}
