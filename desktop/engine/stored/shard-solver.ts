/**
 * Solves blocks of lost shards from others of the same extent. Only blocks with the right digest go
 * in, and what comes out is compared too. Shards that are rebuilt side by side share what is read.
 */

import { createHash } from 'node:crypto';
import { rangeBytes } from '@millrace/shared/base/byte-range';
import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError, isPassing, MillraceError } from '@millrace/shared/base/errors';
import { ReedSolomon, type Shard } from '@millrace/shared/code/reed-solomon';
import { blockInColumn, columnRange } from '@millrace/shared/exnode/coded';
import type { CodedExtent, Exnode, ExnodeReplica } from '@millrace/shared/exnode/exnode';
import { type Listed, type ReplicaBlock, replicaBlock } from '@millrace/shared/exnode/replicas';
import { fastestKernel } from '@millrace/shared/node/code/gf-kernel';
import { sleep } from '@millrace/shared/node/sleep';
import type { ContentOptions } from './extent-content.ts';
import { readBlock } from './proven-bytes.ts';

/**
 * Columns whose blocks are kept for shards that are rebuilt side by side, and the bytes above which
 * only the latest is.
 */
const KEPT_COLUMNS = 2;
const MAX_KEPT_BYTES = 64 * 1024 * 1024;
/** Times that all shards are asked for a column, and the pause after the first, which grows. */
const ROUNDS = 3;
const PAUSE_MS: Millis = 1000;

export interface SolverOptions extends Pick<ContentOptions, 'source' | 'onWrong' | 'signal'> {
  readonly exnode: Exnode;
  readonly extent: CodedExtent;
  /** Lists the good replicas of a shard. */
  readonly replicas: (index: number) => readonly ExnodeReplica[];
}

export class ShardSolver {
  readonly #options: SolverOptions;
  readonly #code: ReedSolomon;
  /** Known blocks by column, the latest last. */
  readonly #columns = new Map<number, Promise<Shard[]>>();

  constructor(options: SolverOptions) {
    this.#options = options;
    const { data, parity } = options.extent;
    this.#code = new ReedSolomon(data, parity, fastestKernel());
  }

  /**
   * Solves a block of a shard.
   *
   * @throws MillraceError `rest-missing` if too few other shards can be read; the signal's reason
   */
  async block(index: number, column: number): Promise<Buffer> {
    const { exnode, extent } = this.#options;
    const known = await this.#known(column);
    const own = known.find((shard) => shard.index === index)?.bytes;
    const { range, hex } = this.#blockOf(index, column, { read: '', at: 0 });
    const wanted = Buffer.alloc(rangeBytes(columnRange(extent, exnode.blocks.pieceBytes, column)));
    if (own === undefined) this.#code.solve(known, [{ index, bytes: wanted }]);
    else wanted.set(own);
    const block = wanted.subarray(0, rangeBytes(range));
    if (createHash('sha256').update(block).digest('hex') === hex) return block;
    throw new MillraceError('rest-missing', `shard ${index} cannot be solved: its digest is wrong`);
  }

  #known(column: number): Promise<Shard[]> {
    const before = this.#columns.get(column);
    if (before !== undefined) return before;
    const reading = this.#read(column);
    this.#columns.set(column, reading);
    reading.catch(() => this.#columns.delete(column));
    const { exnode, extent } = this.#options;
    const bytes = KEPT_COLUMNS * extent.data * exnode.blocks.pieceBytes;
    const most = bytes > MAX_KEPT_BYTES ? 1 : KEPT_COLUMNS;
    for (const oldest of this.#columns.keys()) {
      if (this.#columns.size > most) this.#columns.delete(oldest);
    }
    return reading;
  }

  /** Reads as many blocks of a column as there are data shards; data first, which solve fastest. */
  async #read(column: number): Promise<Shard[]> {
    const { exnode, extent, signal } = this.#options;
    const { data, parity } = extent;
    const known: Shard[] = [];
    const waiting: number[] = [];
    for (let index = 0; index < data + parity; index++) {
      const isEmpty =
        index < data && !blockInColumn(extent, exnode.blocks.pieceBytes, index, column);
      if (isEmpty) known.push({ index, bytes: new Uint8Array() });
      else if (this.#options.replicas(index).length > 0) waiting.push(index);
    }
    let failure: MillraceError | undefined;
    for (let round = 1; round <= ROUNDS; round++) {
      const again: number[] = [];
      const readNext = async () => {
        for (let index = waiting.shift(); index !== undefined; index = waiting.shift()) {
          const read = await this.#readShard(index, column);
          if (read instanceof MillraceError) {
            failure = read;
            if (isPassing(read.row)) again.push(index);
            continue;
          }
          known.push({ index, bytes: read });
          return;
        }
      };
      await Promise.all(Array.from({ length: data - known.length }, readNext));
      if (known.length >= data) return known;
      if (again.length === 0) break;
      waiting.push(...again);
      if (round < ROUNDS) await sleep(PAUSE_MS * round, signal);
    }
    const why = failure === undefined ? '' : `: ${failure.message}`;
    throw new MillraceError('rest-missing', `${known.length} of ${data} shards can be read${why}`);
  }

  /** Reads a block of a shard, from the first replica that has it right. @returns the last failure */
  async #readShard(index: number, column: number): Promise<Buffer | MillraceError> {
    const { signal, source, onWrong, replicas } = this.#options;
    let failure = new MillraceError('rest-missing', `nobody has shard ${index}`);
    for (const replica of replicas(index)) {
      const { range, hex } = this.#blockOf(index, column, replica);
      try {
        const bytes = await readBlock(await source(replica), range, replica.at, signal);
        if (createHash('sha256').update(bytes).digest('hex') === hex) return bytes;
        failure = new MillraceError('wrong-digest', `block ${column} of shard ${index}`);
        onWrong(replica, failure);
      } catch (thrown) {
        signal.throwIfAborted();
        failure = asMillraceError(thrown);
      }
    }
    return failure;
  }

  #blockOf(index: number, column: number, replica: ExnodeReplica): ReplicaBlock {
    const { exnode, extent } = this.#options;
    const listed: Listed = { replica, extent, shard: { extent, index } };
    return replicaBlock(exnode, listed, column);
  }
}
