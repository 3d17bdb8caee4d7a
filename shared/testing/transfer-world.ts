/** Sources, a store and a clock for tests of transfers that take no real time. */

import { type ByteRange, RangeSet } from '../src/base/byte-range.ts';
import type { Millis } from '../src/base/clock.ts';
import type { SourceKind } from '../src/download/request/source-kinds.ts';
import type { Holds } from '../src/download/scheduler/holdings.ts';
import { Scheduler } from '../src/download/scheduler/scheduler.ts';
import { BlockTransfer } from '../src/download/transfer/block-transfer.ts';
import type { Session } from '../src/download/transfer/session.ts';
import { SourceHealth } from '../src/download/transfer/source-health.ts';
import { type Seats, SourcePool } from '../src/download/transfer/source-pool.ts';
import type {
  BlockTransferOptions,
  OpenAnswer,
  RangeWriter,
  Sink,
} from '../src/download/transfer/transfer-ports.ts';
import { TransferSource } from '../src/download/transfer/transfer-source.ts';
import { Timers } from './timers.ts';

const PIECE_BYTES = 64 * 1024;
/** Time between the bytes of an answer that drips. */
const DRIP_MS = 200;
/** Number of promise turns between events: more than any step here needs. */
const TURNS = 100;
/** Longest time that `until` waits, in simulated milliseconds. */
const DEADLINE_MS = 300_000;

/** Returns the byte of the test file at a position. */
const byteAt = (position: number) => (position * 31 + (position >> 11)) & 0xff;

let content = new Uint8Array();

/** Returns the first bytes of the test file, each of which is computed about once. */
function contentOf(length: number): Uint8Array {
  if (content.length < length) {
    content = new Uint8Array(Math.max(length, 2 * content.length));
    for (let i = 0; i < content.length; i++) content[i] = byteAt(i);
  }
  return content.subarray(0, length);
}

/** The behaviour of one answer. */
export interface Script {
  /** Most bytes that the answer brings. */
  readonly bytes?: number;
  /** Error with which the answer ends. */
  readonly error?: Error;
  /** Error with which opening the answer fails. */
  readonly refused?: Error;
  /** True if all of its bytes are wrong. */
  readonly damaged?: boolean;
  readonly checked?: boolean;
  readonly defines?: boolean;
  /** True if the answer sends nothing after `bytes`, until its signal ends it. */
  readonly hangs?: boolean;
  /** True if single bytes follow `bytes`, slowly, all but the last. */
  readonly drips?: boolean;
  /** Time from its last bytes to its end or error. */
  readonly endMs?: Millis;
}

export class TestSource extends TransferSource {
  override readonly kind: SourceKind;
  override readonly id: string;
  admitted = true;
  override host: string;
  /** The behaviour of its answers, the first one first. */
  readonly scripts: Script[] = [];
  /** The behaviour of all answers after those of `scripts`. */
  always: Script = {};
  readonly asked: ByteRange[] = [];
  /** The parts of the file that the source has; undefined: the whole file. */
  has: RangeSet | undefined;
  /** True if it may have more parts later. */
  mayGrow = false;
  /** Milliseconds that a piece takes. */
  pieceMs = 1;

  override get isAdmitted(): boolean {
    return this.admitted;
  }

  override get mayHaveMore(): boolean {
    return this.mayGrow;
  }

  override get holds(): Holds | undefined {
    const { has } = this;
    return has && ((position) => has.ranges.find(({ end }) => end > position));
  }

  constructor(id: string, kind: SourceKind = 'mirror', host = id) {
    super(new SourceHealth(() => 0.5));
    this.id = id;
    this.kind = kind;
    this.host = host;
  }
}

/** Gives every source `perSource` seats. */
export const freeSeats = (perSource: number): Seats => ({
  perSource,
  room: (_host, active) => perSource - active,
  take: () => true,
  release: () => {},
});

export class TransferWorld {
  now: Millis = 1000;
  readonly data: Uint8Array;
  readonly stored = new RangeSet();
  readonly scheduler: Scheduler;
  readonly pool: SourcePool<TestSource>;
  /** Bytes that have come in, including unwanted ones. */
  receivedBytes = 0;
  readonly #timers = new Timers(() => this.now);

  /** @param isOpenEnded true if one request may ask for all the rest */
  constructor(
    length: number,
    sources: readonly TestSource[],
    seats = freeSeats(4),
    isOpenEnded = false,
  ) {
    this.data = new Uint8Array(length);
    const settings = { length, mode: 'progress' as const, redundantBytes: 0, connections: 4 };
    this.scheduler = new Scheduler({ ...settings, isOpenEnded }, this.now);
    this.pool = new SourcePool(seats, () => this.now);
    for (const source of sources) this.join(source);
  }

  join(source: TestSource): void {
    this.scheduler.addSource(source.id, { holds: source.holds });
    this.pool.add(source);
  }

  /** Makes a transfer. @param more changes to its options and its session */
  transfer(
    more: Partial<BlockTransferOptions<TestSource> & Session<TestSource>> = {},
  ): BlockTransfer<TestSource> {
    return new BlockTransfer<TestSource>({
      store: {
        writer: (_start, provisional) => this.#writer(provisional),
        confirm: async (range) => this.stored.add(range),
        forget: async (ranges) => {
          for (const { start, end } of ranges) {
            this.stored.remove({ start, end });
            this.data.fill(0, start, end);
          }
        },
      },
      scheduler: this.scheduler,
      pool: this.pool,
      open: (source, range, signal) => this.#open(source, range, signal),
      connections: 4,
      session: {
        now: () => this.now,
        wait: (ms, signal) => this.wait(ms, signal),
        signal: new AbortController().signal,
        onBytes: (_source, count) => {
          this.receivedBytes += count;
          return undefined;
        },
        ...more,
      },
      ...more,
    });
  }

  /** Lets time pass until `work` has settled. @throws its rejection */
  async until<T>(work: Promise<T>): Promise<T> {
    const giveUpAt = this.now + DEADLINE_MS;
    let settled = false;
    const end = () => {
      settled = true;
    };
    work.then(end, end);
    for (;;) {
      // Run everything that follows from the last event before the next event.
      for (let turn = 0; turn < TURNS; turn++) await Promise.resolve();
      if (settled) return work;
      const { nextAt } = this.#timers;
      if (nextAt === undefined || nextAt > giveUpAt) throw new Error('it never comes to an end');
      this.now = Math.max(this.now, nextAt);
      this.#timers.fireNext();
    }
  }

  /** Calls `fire` after `ms`. */
  after(ms: Millis, fire: () => void): void {
    this.#timers.after(ms, fire);
  }

  wait(ms: Millis, signal: AbortSignal): Promise<void> {
    return this.#timers.wait(ms, signal);
  }

  /** True if the whole file is stored, and every byte is right. */
  get isRight(): boolean {
    const all = this.stored.covers({ start: 0, end: this.data.length });
    const right = contentOf(this.data.length);
    for (let at = 0; at < right.length; at++) if (this.data[at] !== right[at]) return false;
    return all;
  }

  #writer(provisional: boolean): RangeWriter {
    return {
      write: (position, bytes) => {
        this.data.set(bytes, position);
        if (!provisional) this.stored.add({ start: position, end: position + bytes.length });
        return undefined;
      },
      end: async () => {},
    };
  }

  async #open(source: TestSource, range: ByteRange, signal: AbortSignal): Promise<OpenAnswer> {
    const script = source.scripts.shift() ?? source.always;
    source.asked.push(range);
    await this.wait(source.pieceMs, signal);
    signal.throwIfAborted();
    if (script.refused !== undefined) throw script.refused;
    if (source.has?.covers(range) === false) throw new Error(`${source.id} does not have that`);
    const read = (sink: Sink) => this.#read(source, script, range, sink, signal);
    return { checked: script.checked === true, defines: script.defines === true, read };
  }

  async #read(
    source: TestSource,
    { bytes = Infinity, error, damaged = false, hangs = false, drips = false, endMs = 0 }: Script,
    { start, end }: ByteRange,
    sink: Sink,
    signal: AbortSignal,
  ): Promise<void> {
    const last = Math.min(end, start + bytes);
    for (let at = start; at < last; at += PIECE_BYTES) {
      await this.wait(source.pieceMs, signal);
      signal.throwIfAborted();
      const right = contentOf(end).slice(at, Math.min(last, at + PIECE_BYTES));
      await sink(at, damaged ? right.map((byte) => byte ^ 0xff) : right);
    }
    for (let at = last; drips && at < end - 1 && !signal.aborted; at++) {
      await this.wait(DRIP_MS, signal);
      signal.throwIfAborted();
      await sink(at, Uint8Array.of(byteAt(at)));
    }
    if (hangs || drips) await this.wait(1e9, signal);
    if (endMs > 0) await this.wait(endMs, signal);
    signal.throwIfAborted();
    if (error !== undefined) throw error;
  }
}
