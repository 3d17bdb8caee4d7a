/**
 * A striped file on depots that die, downloaded in simulated time by the real transfer, sources,
 * parity and proof. What is left out is the disk, the network and the processor.
 */

import { createHash } from 'node:crypto';
import { type ByteRange, RangeSet } from '@millrace/shared/base/byte-range';
import { type Random, seededRandom } from '@millrace/shared/base/clock';
import { type PieceDigests, pieceRange } from '@millrace/shared/base/digest';
import { MillraceError } from '@millrace/shared/base/errors';
import { ReedSolomon } from '@millrace/shared/code/reed-solomon';
import { Scheduler } from '@millrace/shared/download/scheduler/scheduler';
import { BlockTransfer } from '@millrace/shared/download/transfer/block-transfer';
import type { Session } from '@millrace/shared/download/transfer/session';
import { SourceHealth } from '@millrace/shared/download/transfer/source-health';
import { blockInColumn, columnRange, columnsOf } from '@millrace/shared/exnode/coded';
import type { CodedExtent, CodedLayout, ReadableExnode } from '@millrace/shared/exnode/exnode';
import { placesOf } from '@millrace/shared/exnode/places';
import { fastestKernel } from '@millrace/shared/node/code/gf-kernel';
import { Timers } from '../../shared/testing/timers.ts';
import { BlockProof } from '../engine/download/block-proof.ts';
import { Parity, type ParityOfDownload } from '../engine/download/parity.ts';
import type { DownloadSource } from '../engine/sources/download-source.ts';
import { PlaceSource } from '../engine/sources/exnode/place-source.ts';
import type { Opened } from '../engine/sources/source-answer.ts';
import { SourceSet } from '../engine/sources/source-set.ts';

const MIB = 1024 * 1024;
const PIECE_BYTES = 256 * 1024;

export interface Death {
  readonly depot: number;
  readonly atMs: number;
}

export interface DyingDepotsOptions {
  readonly blocks: number;
  /** Bytes per second of each depot, of data and then of parity. */
  readonly rates: readonly number[];
  /** Bytes per second that the client lets in; undefined: all. */
  readonly limit?: number | undefined;
  readonly rttMs: number;
  readonly seed: number;
  readonly deaths: readonly Death[];
}

export interface DyingDepotsOutcome {
  readonly ms: number;
  readonly isRight: boolean;
  /** Bytes received, parity included. */
  readonly receivedBytes: number;
}

const DATA = 4;

/** Downloads a file of 4 shards of data and 2 of parity. @throws MillraceError as the transfer */
export async function downloadFromDying(options: DyingDepotsOptions): Promise<DyingDepotsOutcome> {
  return new DyingDepots(options).run();
}

/** A file and its parity: made once, since all downloads may have the same. */
interface Content {
  readonly bytes: Buffer;
  readonly shards: readonly Buffer[];
  readonly exnode: ReadableExnode;
}
const contents = new Map<number, Content>();

function contentOf(blocks: number): Content {
  const known = contents.get(blocks);
  if (known !== undefined) return known;
  const random = seededRandom(blocks);
  const size = blocks * MIB - 12_345;
  const bytes = Buffer.alloc(size);
  for (let at = 0; at + 4 <= size; at += 4) bytes.writeUInt32LE((random() * 2 ** 32) >>> 0, at);
  const layout: CodedLayout = { start: 0, end: size, data: DATA, parity: 2, unit: MIB };
  const columns = columnsOf(layout, MIB);
  const code = new ReedSolomon(DATA, 2, fastestKernel());
  const shards = Array.from({ length: DATA + 2 }, () => Buffer.alloc(columns * MIB));
  const parityHexes: string[][] = [[], []];
  for (let column = 0; column < columns; column++) {
    const range = columnRange(layout, MIB, column);
    const own = Array.from({ length: DATA }, (_, i) => {
      const block = blockInColumn(layout, MIB, i, column);
      const unit = Buffer.alloc(range.end - range.start);
      if (block !== undefined) bytes.copy(unit, 0, block.start, block.end);
      unit.copy(shards[i] as Buffer, range.start);
      return unit;
    });
    const sums = [Buffer.alloc(range.end - range.start), Buffer.alloc(range.end - range.start)];
    code.encode(own, sums);
    for (const [i, sum] of sums.entries()) {
      sum.copy(shards[DATA + i] as Buffer, range.start);
      parityHexes[i]?.push(hexOf(sum));
    }
  }
  const hexes = Array.from({ length: blocks }, (_, i) =>
    hexOf(bytes.subarray(i * MIB, (i + 1) * MIB)),
  );
  const extent: CodedExtent = {
    ...layout,
    parityHexes,
    shards: Array.from({ length: DATA + 2 }, (_, i) => [
      { read: `http://depot-${i}.example/shard`, at: 0 },
    ]),
  };
  const exnode: ReadableExnode = {
    ...{ name: 'file', size, root: '', extents: [], coded: [extent] },
    blocks: { algorithm: 'sha256', pieceBytes: MIB, hexes },
  };
  const content = { bytes, shards, exnode };
  contents.set(blocks, content);
  return content;
}

const hexOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

class DyingDepots {
  readonly #options: DyingDepotsOptions;
  readonly #content: Content;
  readonly #random: Random;
  readonly #timers: Timers;
  readonly #data: Buffer;
  readonly #stored = new RangeSet();
  readonly #died = new Set<number>();
  /** Connections that end when their depot dies. */
  readonly #connections = new Map<number, Set<AbortController>>();
  /** When the line of each depot, and that of the client, is free. */
  readonly #freeAt: number[] = [];
  #clientFreeAt = 0;
  #now = 1000;
  #received = 0;

  constructor(options: DyingDepotsOptions) {
    this.#options = options;
    this.#content = contentOf(options.blocks);
    this.#random = seededRandom(options.seed);
    this.#timers = new Timers(() => this.#now);
    this.#data = Buffer.alloc(this.#content.bytes.length);
  }

  async run(): Promise<DyingDepotsOutcome> {
    for (const { depot, atMs } of this.#options.deaths) {
      this.#timers.after(atMs, () => {
        this.#died.add(depot);
        for (const one of this.#connections.get(depot) ?? []) {
          one.abort(new MillraceError('origin-reset'));
        }
      });
    }
    const began = this.#now;
    await this.#until(this.#download());
    const isRight = this.#data.equals(this.#content.bytes);
    return { ms: this.#now - began, isRight, receivedBytes: this.#received };
  }

  async #download(): Promise<void> {
    const { exnode } = this.#content;
    const now = () => this.#now;
    const sources = new SourceSet(4, undefined, now);
    const session: Session<DownloadSource> = {
      signal: new AbortController().signal,
      retryForMs: 60_000,
      now,
      wait: (ms, signal) => this.#timers.wait(ms, signal),
      onBytes: (_source, count, signal) => {
        this.#received += count;
        return this.#limit(count, signal);
      },
    };
    const file = {
      stored: this.#stored,
      removals: 0,
      provenBy: () => [],
      prove: async () => {},
      read: async (into: Buffer, at: number) =>
        this.#data.copy(into, 0, at, Math.min(at + into.length, this.#data.length)),
      forget: async (range: ByteRange) => this.#stored.remove(range),
    };
    const open = (url: string) => this.#depot(url);
    const request = { redundantShare: 0.02 };
    const parity = new Parity({
      ...{ exnode, session, sources, request, context: { random: this.#random } },
      connections: { source: (_kind: string, url: string) => open(url) },
      report: { sourceFailed: () => {} },
    } as unknown as ParityOfDownload);
    const places = placesOf(exnode, 0).map(
      (place, index) =>
        new PlaceSource({ place, index, health: new SourceHealth(this.#random), open }),
    );
    let scheduler: Scheduler | undefined;
    const coded = parity.begin(file as never, places, () => scheduler);
    const all = [...places, coded];
    for (const source of all) sources.add(source);
    const digests = async (_algorithm: string, ranges: readonly ByteRange[]) =>
      ranges.map(({ start, end }) => hexOf(this.#data.subarray(start, end)));
    const proof = new BlockProof({
      ...{ size: exnode.size, blocks: exnode.blocks, file: file as never, now },
      sources: () => all,
      hasher: {
        digestsOf: digests,
        digestsOfPieces: (pieces: PieceDigests, size: number, indices: readonly number[]) =>
          digests(
            'sha256',
            indices.map((index) => pieceRange(pieces, size, index)),
          ),
      } as never,
      isAsked: (source) => sources.active(source) > 0,
      onLeft: () => {},
      onRight: () => {
        if (parity.canSolve) transfer.kick();
      },
      onWrong: () => transfer.kick(),
      onFailed: (error) => transfer.stop(error),
    });
    parity.setProof(proof);
    for (const source of all) proof.restrict(source);
    const length = exnode.size;
    scheduler = new Scheduler(
      { length, mode: 'progress', redundantBytes: length * 0.02, connections: 16 },
      this.#now,
    );
    const transfer = new BlockTransfer<DownloadSource>({
      ...{ scheduler, pool: sources, connections: 16, session: parity.session },
      open: (source, range, signal) => source.openRange(range, undefined, signal),
      store: {
        writer: () => ({
          write: (at, bytes) => {
            this.#data.set(bytes, at);
            this.#stored.add({ start: at, end: at + bytes.length });
            proof.advance();
            return undefined;
          },
          end: async () => {},
        }),
        confirm: async () => {},
        forget: async (ranges) => {
          for (const range of ranges) this.#stored.remove(range);
        },
      },
    });
    for (const { id, holds } of all) scheduler.addSource(id, { holds });
    while (!(await proof.finish())) await transfer.run();
  }

  #limit(count: number, signal: AbortSignal): Promise<void> | undefined {
    const { limit } = this.#options;
    if (limit === undefined) return undefined;
    this.#clientFreeAt = Math.max(this.#now - 250, this.#clientFreeAt) + (count * 1000) / limit;
    const ms = this.#clientFreeAt - this.#now;
    return ms <= 0 ? undefined : this.#timers.wait(ms, signal);
  }

  /** Makes the source of a shard. */
  #depot(url: string): DownloadSource {
    const depot = Number(/depot-(\d+)/.exec(url)?.[1]);
    const shard = this.#content.shards[depot] as Buffer;
    const version = { length: shard.length, validators: { etag: '"1"' } };
    const source = {
      version: undefined,
      rttMs: this.#options.rttMs,
      headMs: this.#options.rttMs,
      health: new SourceHealth(this.#random),
      openRange: async (range: ByteRange, _pinned: unknown, signal: AbortSignal) => {
        const own = new AbortController();
        const connections = this.#connections.get(depot) ?? new Set();
        this.#connections.set(depot, connections.add(own));
        const either = AbortSignal.any([own.signal, signal]);
        const pass = async (ms: number) => {
          await this.#timers.wait(ms, either);
          either.throwIfAborted();
        };
        if (this.#died.has(depot)) {
          await this.#timers.wait(this.#options.rttMs, signal);
          throw new MillraceError('origin-refused');
        }
        await pass(this.#options.rttMs);
        const opened: Partial<Opened> = {
          ...{ kind: 'range', range, version, headers: {}, checked: false, isPlain: true },
          headMs: this.#options.rttMs,
          read: async (sink) => {
            for (let at = range.start; at < range.end; at += PIECE_BYTES) {
              const end = Math.min(range.end, at + PIECE_BYTES);
              const rate = this.#options.rates[depot] as number;
              const free = Math.max(this.#now, this.#freeAt[depot] ?? 0);
              this.#freeAt[depot] = free + ((end - at) * 1000) / rate;
              await pass((this.#freeAt[depot] as number) - this.#now);
              await sink(at, shard.subarray(at, end));
            }
            connections.delete(own);
          },
          discard: () => {},
        };
        return opened as Opened;
      },
    };
    return source as unknown as DownloadSource;
  }

  async #until(work: Promise<void>): Promise<void> {
    let settled = false;
    const end = () => {
      settled = true;
    };
    work.then(end, end);
    for (;;) {
      // Nothing here waits for anything but promises and timers of simulated time: within a turn of
      // the event loop all promises settle, however many follow one another.
      await new Promise(setImmediate);
      if (settled) return work;
      const { nextAt } = this.#timers;
      if (nextAt === undefined) throw new Error('the download stands still');
      this.#now = Math.max(this.#now, nextAt);
      this.#timers.fireNext();
    }
  }
}
