/**
 * Blocks of files that lie on several depots. A block is read from a replica, or solved from the other
 * shards of its column if none has it; only bytes with the right digest leave here. Shards are
 * added up one group after the other, so a block takes little memory however many shards there are.
 */

import { createHash } from 'node:crypto';
import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError, isPassing, MillraceError } from '@millrace/shared/base/errors';
import { MIN_ORIGIN_TIMEOUT_MS, RetryTimer } from '@millrace/shared/cdn/delivery/retry-timer';
import type { AttemptObserver } from '@millrace/shared/cdn/fetch/competing-fetch';
import { ReedSolomon } from '@millrace/shared/code/reed-solomon';
import {
  type BlockColumn,
  type BlockPlace,
  blockColumns,
  blockPlaces,
  chooseShards,
  inOrder,
  type ShardBlock,
} from '@millrace/shared/exnode/block-ways';
import { blockRange, type ExnodeReplica } from '@millrace/shared/exnode/exnode';
import type { DepotLink } from '@millrace/shared/http/urls/depot-link';
import { fastestKernel } from '@millrace/shared/node/code/gf-kernel';
import { Chunk, sha256 } from '../files/chunk.ts';
import type { ChunkBuffer, ChunkMemory } from '../files/chunk-memory.ts';
import { type ChunkRequest, type ChunkSource, chunkKey } from '../files/chunk-request.ts';
import type { FileVersion } from '../files/file-version.ts';
import { Places } from './places.ts';
import type { StoredRanges } from './stored-ranges.ts';
import type { WholeFile, WholeFiles } from './whole-files.ts';

export interface BlockSourceOptions {
  readonly wholes: WholeFiles;
  readonly ranges: StoredRanges;
  readonly memory: ChunkMemory;
  /** Called with the id of an allocation whose bytes were wrong. */
  readonly onWrong: (id: string) => void;
  /** Called when a block has been solved. */
  readonly onSolved: () => void;
  /** Generation of purges in which a read begins. */
  readonly generation: () => number;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
}

/** Bytes of shards that are added up at a time: at least one block. */
const GROUP_BYTES = 8 * 1024 * 1024;
/** Blocks that are solved at a time. */
const SOLVED_AT_ONCE = 4;

/** A block under way. */
interface Wanted {
  readonly file: WholeFile;
  readonly version: FileVersion;
  /** Index in the file. */
  readonly index: number;
  readonly bytes: number;
  readonly signal: AbortSignal;
  readonly observer: AttemptObserver;
}

export class BlockSource implements ChunkSource {
  readonly #options: BlockSourceOptions;
  readonly #timer = new RetryTimer();
  readonly #solving = new Places(SOLVED_AT_ONCE);
  readonly #kernel = fastestKernel();
  /** Keeps a proven block that was not asked for. */
  keep: (chunk: Chunk) => void = () => {};
  /** Returns a block that is in memory; its user must release it. */
  peek: (request: ChunkRequest) => Chunk | undefined = () => undefined;

  constructor(options: BlockSourceOptions) {
    this.#options = options;
  }

  lateAfterMs(): Millis {
    return Math.max(MIN_ORIGIN_TIMEOUT_MS, this.#timer.timeoutMs(0));
  }

  /**
   * Gets a block.
   *
   * @param attempt a later one begins in another way than earlier ones, which may be under way
   * @throws MillraceError `file-lost` if it cannot be had; `depot-unreachable` and others if it may be
   *   had later
   */
  async fetch(
    { version, range }: ChunkRequest,
    attempt: number,
    signal: AbortSignal,
    observer: AttemptObserver,
  ): Promise<ChunkBuffer> {
    const { wholes, now } = this.#options;
    const file = wholes.withUrl(version.url);
    if (file === undefined) throw new MillraceError('version-changed');
    const index = range.start / file.exnode.blocks.pieceBytes;
    const bytes = range.end - range.start;
    const wanted: Wanted = { file, version, index, bytes, signal, observer };
    const startedAt = now();
    observer.onSent();
    const ways = this.#waysOf(wanted);
    const failures: MillraceError[] = [];
    for (const i of ways.keys()) {
      const way = ways[(attempt + i) % ways.length] as () => Promise<ChunkBuffer>;
      try {
        const buffer = await way();
        if (attempt === 0) this.#timer.onChunk(now() - startedAt);
        return buffer;
      } catch (error) {
        signal.throwIfAborted();
        const failure = asMillraceError(error);
        if (failure.code === 'out-of-memory' || failure.code === 'internal') throw failure;
        failures.push(failure);
      }
    }
    throw lost(wanted, failures);
  }

  /** Lists the ways to get a block, best first. */
  #waysOf(wanted: Wanted): (() => Promise<ChunkBuffer>)[] {
    const { ranges } = this.#options;
    const { exnode } = wanted.file;
    const { good, doubtful } = inOrder(
      blockPlaces(exnode, wanted.index),
      (replica) => ranges.standingOf(replica),
      (replica) => this.#rank(wanted, replica),
    );
    return [
      ...good.map((place) => () => this.#direct(wanted, place)),
      ...blockColumns(exnode, wanted.index).map((column) => () => this.#solve(wanted, column)),
      ...doubtful.map((place) => () => this.#direct(wanted, place)),
    ];
  }

  /**
   * Ranks replicas: this node's own first, the others in an order that is the block's, and the same at
   * all nodes. So blocks come from all depots, and each from the copy that other nodes have chunks of.
   */
  #rank({ file, index }: Wanted, replica: ExnodeReplica): number {
    const link = this.#options.ranges.linkOf(replica);
    if (link === undefined) return 1;
    if (this.#options.ranges.isOwn(replica)) return -1;
    const name = `${file.exnode.root} ${index} ${link.id}`;
    return createHash('sha256').update(name).digest().readUInt32BE() / 2 ** 32;
  }

  async #direct(wanted: Wanted, { replica, at }: BlockPlace): Promise<ChunkBuffer> {
    const hex = wanted.file.exnode.blocks.hexes[wanted.index] as string;
    return this.#proven(wanted, replica, at, wanted.bytes, hex);
  }

  /** Reads bytes of a replica that have a digest. @throws MillraceError `wrong-digest` if they do not */
  async #proven(
    { signal, observer }: Wanted,
    replica: ExnodeReplica,
    at: number,
    bytes: number,
    hex: string,
  ): Promise<ChunkBuffer> {
    const { ranges, memory, onWrong } = this.#options;
    const link = ranges.linkOf(replica) as DepotLink;
    const buffer = memory.allocate(bytes);
    try {
      const range = { start: at, end: at + bytes };
      await ranges.read(link, range, buffer.data, signal, (count) => observer.onBytes(count));
      if ((await sha256(buffer.data)).toString('hex') === hex) return buffer;
      onWrong(link.id);
      throw new MillraceError('wrong-digest', `bytes ${at}-${at + bytes - 1} of ${link.id}`);
    } catch (error) {
      buffer.release();
      signal.throwIfAborted();
      const failure = asMillraceError(error);
      if (failure.code !== 'out-of-memory') ranges.doubt(replica, failure);
      throw failure;
    }
  }

  /** Solves a block. @throws MillraceError `file-lost` if too few shards can be had */
  async #solve(wanted: Wanted, column: BlockColumn): Promise<ChunkBuffer> {
    const { ranges, onSolved } = this.#options;
    const end = await this.#solving.take(wanted.signal);
    try {
      const failures = new Map<number, MillraceError>();
      for (;;) {
        const chosen = chooseShards(
          column,
          (replica) => ranges.standingOf(replica),
          new Set(failures.keys()),
        );
        if (chosen === undefined) throw lost(wanted, [...failures.values()]);
        const buffer = await this.#addUp(wanted, column, chosen, failures);
        if (buffer === undefined) continue;
        const hex = wanted.file.exnode.blocks.hexes[wanted.index];
        if ((await sha256(buffer.data)).toString('hex') === hex) {
          onSolved();
          return buffer;
        }
        buffer.release();
        throw new MillraceError('bad-exnode', 'its parity is not that of the file');
      }
    } finally {
      end();
    }
  }

  /**
   * Computes a block from as many shards as there is data.
   *
   * @param failures filled with the shards that could not be had
   * @returns undefined if there are such
   */
  async #addUp(
    wanted: Wanted,
    { extent, own }: BlockColumn,
    chosen: readonly ShardBlock[],
    failures: Map<number, MillraceError>,
  ): Promise<ChunkBuffer | undefined> {
    const { memory } = this.#options;
    const code = new ReedSolomon(extent.data, extent.parity, this.#kernel);
    const indices = chosen.map(({ index }) => index);
    const [factors = new Uint8Array()] = code.factors(indices, [own]);
    const added = [...chosen.entries()].filter(([, { bytes }]) => bytes > 0);
    const perGroup = Math.max(1, Math.floor(GROUP_BYTES / wanted.file.exnode.blocks.pieceBytes));
    const sums: ChunkBuffer[] = [];
    try {
      for (let i = 0; i < 2; i++) sums.push(memory.allocate(wanted.bytes));
      sums[0]?.data.fill(0);
      for (let at = 0; at < added.length; at += perGroup) {
        const group = added.slice(at, at + perGroup);
        const read = await this.#readAll(
          wanted,
          group.map(([, shard]) => shard),
          failures,
        );
        try {
          if (read.includes(undefined)) return undefined;
          const [sum, next] = sums as [ChunkBuffer, ChunkBuffer];
          const row = Uint8Array.of(1, ...group.map(([i]) => factors[i] as number));
          const inputs = [sum.data, ...read.map((one) => one?.data ?? new Uint8Array())];
          this.#kernel.multiply([row], inputs, [next.data]);
          sums.reverse();
        } finally {
          for (const one of read) one?.release();
        }
      }
      return sums.shift();
    } finally {
      for (const one of sums) one.release();
    }
  }

  /** Reads blocks of shards. @returns undefined in the place of each that could not be had */
  async #readAll(
    wanted: Wanted,
    shards: readonly ShardBlock[],
    failures: Map<number, MillraceError>,
  ): Promise<({ readonly data: Buffer; release(): void } | undefined)[]> {
    const results = await Promise.allSettled(shards.map((shard) => this.#readShard(wanted, shard)));
    const fatal = results.find(
      (one) =>
        one.status === 'rejected' &&
        (wanted.signal.aborted || asMillraceError(one.reason).code === 'out-of-memory'),
    );
    if (fatal?.status === 'rejected') {
      for (const one of results) if (one.status === 'fulfilled') one.value.release();
      throw fatal.reason;
    }
    return results.map((one, i) => {
      if (one.status === 'fulfilled') return one.value;
      failures.set((shards[i] as ShardBlock).index, asMillraceError(one.reason));
      return undefined;
    });
  }

  /** Reads a block of a shard. Blocks of the file are kept: the same client will want them. */
  async #readShard(
    wanted: Wanted,
    { index, bytes, hex, block, places }: ShardBlock,
  ): Promise<{ readonly data: Buffer; release(): void }> {
    const { ranges } = this.#options;
    const request = block === undefined ? undefined : requestFor(wanted, block);
    const there = request && this.peek(request);
    if (there !== undefined) return there;
    const { good, doubtful } = inOrder(
      places,
      (replica) => ranges.standingOf(replica),
      (replica) => this.#rank(wanted, replica),
    );
    const generation = this.#options.generation();
    let failure = new MillraceError('file-lost', `nobody has shard ${index}`);
    for (const { replica, at } of [...good, ...doubtful]) {
      try {
        const buffer = await this.#proven(wanted, replica, at, bytes, hex);
        if (request === undefined) return buffer;
        const chunk = new Chunk(chunkKey(request), buffer, request.version, undefined, generation);
        this.keep(chunk);
        return chunk;
      } catch (error) {
        wanted.signal.throwIfAborted();
        failure = asMillraceError(error);
        if (failure.code === 'out-of-memory') throw failure;
      }
    }
    throw failure;
  }
}

function requestFor({ file, version }: Wanted, block: number): ChunkRequest {
  return { version, range: blockRange(file.exnode, block) };
}

/** Makes the error for a block: that it may be had later, why it must not, or that it is lost. */
function lost({ file, index }: Wanted, failures: readonly MillraceError[]): MillraceError {
  const passing = failures.find((one) => isPassing(one.row) && one.code !== 'wrong-digest');
  const blocked = failures.find(({ code }) => code === 'content-blocked');
  const known = passing ?? blocked;
  if (known !== undefined) return known;
  const last = failures.at(-1);
  const { start, end } = blockRange(file.exnode, index);
  const why = last === undefined ? '' : `: ${last.message}`;
  return new MillraceError('file-lost', `bytes ${start}-${end - 1}${why}`);
}
