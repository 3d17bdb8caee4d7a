/**
 * Runs the real transfer, with its scheduler and its number of connections, over a simulated path.
 * Only counts bytes: no content is made or stored.
 */

import type { ByteRange } from '../src/base/byte-range.ts';
import type { Millis, Random } from '../src/base/clock.ts';
import { Scheduler } from '../src/download/scheduler/scheduler.ts';
import { BlockTransfer } from '../src/download/transfer/block-transfer.ts';
import { SourcePool } from '../src/download/transfer/source-pool.ts';
import type { OpenAnswer, Sink } from '../src/download/transfer/transfer-ports.ts';
import { PathConnection, SimulatedPath, type SimulatedPathOptions } from './simulated-path.ts';
import { Timers } from './timers.ts';
import { freeSeats, TestSource } from './transfer-world.ts';

const TICK_MS = 5;
/** Pause, beyond a round trip, after which a server takes back the window of a connection. */
const LEAST_PAUSE_MS = 200;
/** Number of promise turns in a tick: more than any step of a transfer needs. */
const TURNS = 30;

export interface PathDownloadOptions extends SimulatedPathOptions {
  readonly random: Random;
  /** Length of the file, in bytes. */
  readonly length: number;
  /** Most connections. */
  readonly connections: number;
  /** Connections of others on the same line, which always have bytes to send. */
  readonly rivals?: number;
  /** True if the source is an edge, beside which others may be found: requests have an end. */
  readonly isEdge?: boolean;
}

/** A connection of ours, and the answer that it brings. */
interface Carrier {
  readonly tcp: PathConnection;
  /** When its last answer ended; undefined: none has. */
  idleSince?: Millis;
  answer: Answer | undefined;
}

interface Answer {
  readonly range: ByteRange;
  readonly signal: AbortSignal;
  position: number;
  sink: Sink | undefined;
  /** Called when the head has come. */
  onHead: (() => void) | undefined;
  onEnd: ((error?: unknown) => void) | undefined;
}

export class PathDownload {
  now: Millis = 0;
  readonly path: SimulatedPath;
  readonly transfer: BlockTransfer<TestSource>;
  readonly #carriers = new Set<Carrier>();
  readonly #rivals: PathConnection[];
  readonly #timers = new Timers(() => this.now);
  /** Bytes of ours and of all rivals. */
  gotBytes = 0;
  rivalBytes = 0;
  /** Memory handed to sinks, whose content does not matter. */
  readonly #piece = new Uint8Array(4 * 1024 * 1024);

  constructor(options: PathDownloadOptions) {
    this.path = new SimulatedPath(options);
    const { length, connections, rivals = 0, rttMs, isEdge = false } = options;
    this.#rivals = Array.from({ length: rivals }, () => new PathConnection(2 * rttMs));
    const source = new TestSource('server', isEdge ? 'edge' : 'origin');
    const scheduler = new Scheduler(
      { length, mode: 'progress', redundantBytes: 0, connections, isOpenEnded: !isEdge },
      this.now,
    );
    scheduler.addSource(source.id, { hasPeers: isEdge });
    const pool = new SourcePool<TestSource>(freeSeats(connections), () => this.now);
    pool.add(source);
    const writer = { write: () => undefined, end: async () => {} };
    this.transfer = new BlockTransfer({
      scheduler,
      pool,
      connections,
      store: { writer: () => writer, confirm: async () => {}, forget: async () => {} },
      open: (_source, range, signal) => this.#open(range, signal),
      session: {
        now: () => this.now,
        wait: (ms, signal) => this.#timers.wait(ms, signal),
        signal: new AbortController().signal,
        onBytes: () => undefined,
      },
    });
  }

  /** Connections of ours that carry an answer. */
  get busy(): number {
    let busy = 0;
    for (const { answer } of this.#carriers) if (answer !== undefined) busy++;
    return busy;
  }

  /**
   * Runs until the file is complete or the time is over.
   *
   * @param onTick called after each tick
   * @returns true if the file is complete
   */
  async run(mostMs: Millis, onTick?: () => void): Promise<boolean> {
    let ended = false;
    const work = this.transfer.run().finally(() => {
      ended = true;
    });
    const until = this.now + mostMs;
    while (this.now < until) {
      for (let turn = 0; turn < TURNS; turn++) await Promise.resolve();
      if (ended) break;
      this.#tick();
      onTick?.();
    }
    if (ended) await work;
    else work.catch(() => {});
    return ended;
  }

  #tick(): void {
    this.now += TICK_MS;
    while ((this.#timers.nextAt ?? Number.POSITIVE_INFINITY) <= this.now) this.#timers.fireNext();
    const busy = [...this.#carriers].filter(({ answer }) => answer !== undefined);
    const connections = [...busy.map(({ tcp }) => tcp), ...this.#rivals];
    const brought = this.path.tick(connections, TICK_MS);
    for (const [i, bytes] of brought.entries()) {
      const carrier = busy[i];
      if (carrier === undefined) this.rivalBytes += bytes;
      else this.#bring(carrier, Math.floor(bytes));
    }
  }

  #bring(carrier: Carrier, bytes: number): void {
    const { answer, tcp } = carrier;
    if (answer === undefined || tcp.waitMs > 0) return;
    answer.onHead?.();
    answer.onHead = undefined;
    if (answer.sink === undefined) return;
    const count = Math.min(bytes, answer.range.end - answer.position);
    if (count === 0) return;
    const { position } = answer;
    answer.position += count;
    this.gotBytes += count;
    const end = answer.onEnd;
    try {
      void answer.sink(position, this.#piece.subarray(0, count));
    } catch (error) {
      this.#carriers.delete(carrier);
      return end?.(error);
    }
    if (answer.position < answer.range.end) return;
    carrier.answer = undefined;
    carrier.idleSince = this.now;
    end?.();
  }

  async #open(range: ByteRange, signal: AbortSignal): Promise<OpenAnswer> {
    const { rttMs } = this.path;
    let carrier = [...this.#carriers].find(({ answer }) => answer === undefined);
    const handshakeMs = carrier === undefined ? rttMs : 0;
    carrier ??= { tcp: new PathConnection(0), answer: undefined };
    this.#carriers.add(carrier);
    if (this.now - (carrier.idleSince ?? this.now) > LEAST_PAUSE_MS + rttMs) carrier.tcp.restart();
    carrier.tcp.waitMs = handshakeMs + rttMs;
    const head = Promise.withResolvers<void>();
    const end = Promise.withResolvers<void>();
    const answer: Answer = {
      range,
      signal,
      position: range.start,
      sink: undefined,
      onHead: head.resolve,
      onEnd: (error) => (error === undefined ? end.resolve() : end.reject(error)),
    };
    carrier.answer = answer;
    const own = carrier;
    const onAbort = () => {
      if (own.answer !== answer) return;
      this.#carriers.delete(own);
      own.answer = undefined;
      head.reject(signal.reason);
      end.reject(signal.reason);
    };
    end.promise.catch(() => {});
    signal.addEventListener('abort', onAbort, { once: true });
    await head.promise;
    return {
      checked: false,
      headMs: rttMs,
      read: (sink) => {
        answer.sink = sink;
        return end.promise;
      },
    };
  }
}
