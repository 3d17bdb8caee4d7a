/** Reads blocks of parity from the depots that have them, and gives on only those that are right. */

import { createHash } from 'node:crypto';
import { type ByteRange, rangeBytes } from '@millrace/shared/base/byte-range';
import type { Random } from '@millrace/shared/base/clock';
import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { DepotPaces } from '@millrace/shared/download/exnode/depot-paces';
import { SourceHealth } from '@millrace/shared/download/transfer/source-health';
import type { Sink } from '@millrace/shared/download/transfer/transfer-ports';
import type { CodedExtent, ExnodeReplica } from '@millrace/shared/exnode/exnode';
import { depotOf } from '@millrace/shared/exnode/layout';
import type { DownloadSource } from '../download-source.ts';
import type { Opened } from '../source-answer.ts';

/** Parity of a column that has been read. */
export interface ParityBlock {
  /** Number of the parity shard, from 0. */
  readonly parity: number;
  readonly bytes: Uint8Array;
}

export interface ParityOptions {
  /** Tells whether a replica is used. */
  readonly isUsed: (replica: ExnodeReplica) => boolean;
  /** Makes the source of what a URL serves. */
  readonly open: (url: string) => Pick<DownloadSource, 'openRange'>;
  readonly random: Random;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Called as bytes come in. @returns a promise to wait for before the next */
  readonly onBytes: (count: number, signal: AbortSignal) => Promise<void> | undefined;
  /** Called with a depot that has sent wrong bytes, and is asked for no more parity. */
  readonly onWrong: (depot: string, error: MillraceError) => void;
}

export class ParityBlocks {
  readonly #options: ParityOptions;
  readonly #healths = new Map<string, SourceHealth>();
  /** Replicas that are gone, or too short. */
  readonly #lost = new Set<ExnodeReplica>();
  readonly #paces = new DepotPaces();

  constructor(options: ParityOptions) {
    this.#options = options;
  }

  /** Lists the parity shards of an extent that can be asked for now. */
  of(extent: CodedExtent): number[] {
    const numbers = Array.from({ length: extent.parity }, (_, parity) => parity);
    return numbers.filter((parity) => this.#replicas(extent, parity).length > 0);
  }

  /** Returns true if a parity shard of an extent can be asked for later, and not now. */
  rests(extent: CodedExtent): boolean {
    const now = this.#options.now();
    return Array.from({ length: extent.parity }, (_, parity) => parity).some((parity) =>
      this.#left(extent, parity).some((one) => {
        const usableAt = this.#health(depotOf(one)).usableAt();
        return usableAt !== undefined && usableAt > now;
      }),
    );
  }

  /** Lists the parity shards of an extent at depots that have not failed since they last sent. */
  answering(extent: CodedExtent): number[] {
    return this.of(extent).filter((parity) =>
      this.#replicas(extent, parity).some(
        (replica) => this.#health(depotOf(replica)).lastFailure === undefined,
      ),
    );
  }

  /** Lists the bytes per second of the depots of `answering`; undefined: not known yet. */
  rates(extent: CodedExtent): (number | undefined)[] {
    return this.answering(extent).map((parity) => {
      const [first] = this.#replicas(extent, parity);
      return first && this.#paces.rateOf(depotOf(first));
    });
  }

  /**
   * Reads blocks of a column.
   *
   * @param count number of parity shards that are needed, from 1
   * @param had blocks of the column that have been read before, which count
   * @throws MillraceError if too few depots give theirs; the signal's reason
   */
  async read(
    extent: CodedExtent,
    column: { readonly number: number; readonly range: ByteRange },
    count: number,
    signal: AbortSignal,
    had: readonly ParityBlock[] = [],
  ): Promise<ParityBlock[]> {
    const found = had.slice(0, count);
    const missing = count - found.length;
    const waiting = new Set(this.of(extent));
    for (const { parity } of had) waiting.delete(parity);
    let failure: MillraceError | undefined;
    const readNext = async () => {
      for (;;) {
        const parity = this.#quickest(extent, waiting);
        if (parity === undefined) return;
        waiting.delete(parity);
        for (const replica of this.#replicas(extent, parity)) {
          try {
            const bytes = await this.#timed(replica, column.range, signal);
            const hex = createHash('sha256').update(bytes).digest('hex');
            if (hex === extent.parityHexes[parity]?.[column.number]) {
              found.push({ parity, bytes });
              return;
            }
            throw new MillraceError('wrong-digest', { code: 'parity-differs' });
          } catch (thrown) {
            signal.throwIfAborted();
            failure = asMillraceError(thrown);
            this.#onFailure(replica, failure);
          }
        }
      }
    };
    await Promise.all(Array.from({ length: missing }, readNext));
    if (found.length >= count) return found;
    throw failure ?? new MillraceError('origin-error', 'too little parity can be had now');
  }

  /** Chooses the shard that is forecast to come first; undefined: there is none. */
  #quickest(extent: CodedExtent, shards: Iterable<number>): number | undefined {
    let best: number | undefined;
    let least = Infinity;
    for (const parity of shards) {
      const depots = this.#replicas(extent, parity).map(depotOf);
      const cost = Math.min(...depots.map((depot) => this.#paces.costOf(depot)));
      if (best === undefined || cost < least) [best, least] = [parity, cost];
    }
    return best;
  }

  #onFailure(replica: ExnodeReplica, error: MillraceError): void {
    const depot = depotOf(replica);
    if (error.code === 'wrong-digest') {
      this.#health(depot).quarantineFor(error);
      this.#options.onWrong(depot, error);
    } else if (error.row.file !== undefined) this.#lost.add(replica);
    else this.#health(depot).onFailure(error, false, this.#options.now());
  }

  /** Lists the replicas of a parity shard that can be asked now. */
  #replicas(extent: CodedExtent, parity: number): ExnodeReplica[] {
    const now = this.#options.now();
    return this.#left(extent, parity).filter(
      (replica) => (this.#health(depotOf(replica)).usableAt() ?? Infinity) <= now,
    );
  }

  /** Lists the replicas of a parity shard that are not known to be gone. */
  #left({ data, shards }: CodedExtent, parity: number): ExnodeReplica[] {
    return (shards[data + parity] ?? []).filter(
      (replica) => this.#options.isUsed(replica) && !this.#lost.has(replica),
    );
  }

  #health(depot: string): SourceHealth {
    const health = this.#healths.get(depot) ?? new SourceHealth(this.#options.random);
    this.#healths.set(depot, health);
    return health;
  }

  async #timed(replica: ExnodeReplica, range: ByteRange, signal: AbortSignal): Promise<Buffer> {
    const { now } = this.#options;
    const began = now();
    const ended = this.#paces.ask(depotOf(replica));
    let bytes = 0;
    try {
      const block = await this.#readBlock(replica, range, signal);
      bytes = block.length;
      return block;
    } finally {
      ended(bytes, now() - began);
    }
  }

  /** Reads a block, by as many answers as it takes. @throws MillraceError */
  async #readBlock(replica: ExnodeReplica, range: ByteRange, signal: AbortSignal): Promise<Buffer> {
    const source = this.#options.open(replica.read);
    // Memory of its own, which whoever uses the block gives back.
    const bytes = Buffer.allocUnsafeSlow(rangeBytes(range));
    const from = replica.at + range.start;
    for (let at = 0; at < bytes.length; ) {
      const before = at;
      const asked = { start: from + at, end: from + bytes.length };
      const opened: Opened = await source.openRange(asked, undefined, signal);
      if (opened.kind === 'whole') {
        opened.discard();
        throw new MillraceError('range-ignored', 'it sends no ranges');
      }
      try {
        const take: Sink = (position, piece) => {
          if (position !== from + at || at + piece.length > bytes.length) {
            throw new MillraceError('wrong-range', 'bytes come out of order');
          }
          const isThere =
            piece.buffer === bytes.buffer && piece.byteOffset === bytes.byteOffset + at;
          if (!isThere) bytes.set(piece, at);
          at += piece.length;
          return this.#options.onBytes(piece.length, signal);
        };
        // Read into its place: buffers of the socket would be garbage outside the heap.
        await opened.read(take, () => (at < bytes.length ? bytes.subarray(at) : undefined));
      } catch (error) {
        opened.discard();
        signal.throwIfAborted();
        // A connection that has brought bytes has been worth its while.
        if (at === before) throw error;
      }
      if (at === before) throw new MillraceError('wrong-range', 'it sends nothing');
    }
    this.#health(depotOf(replica)).onBytes();
    return bytes;
  }
}
