/**
 * Simulates a download over simulated sources as the engine runs one: with the real scheduler and
 * the real source health, connections that are kept open, and a limit on silence.
 */

import type { ByteRange } from '../src/base/byte-range.ts';
import { RangeSet } from '../src/base/byte-range.ts';
import { type Millis, seededRandom } from '../src/base/clock.ts';
import { MillraceError } from '../src/base/errors.ts';
import { ASK_AGAIN_MS, type Assignment } from '../src/download/scheduler/scheduler.ts';
import { SourceHealth } from '../src/download/transfer/source-health.ts';
import type { VirtualClock } from './virtual-clock.ts';

/** The part of a scheduler that a download uses. */
export interface Chooser {
  readonly done: boolean;
  next(source: string, now: Millis): Assignment | undefined;
  onBytes(a: Assignment, range: ByteRange, now: Millis): readonly Assignment[];
  onEnd(a: Assignment, outcome: 'complete' | 'failed' | 'cancelled', now: Millis): void;
}

export interface DownloadReceiver {
  onData(bytes: number): void;
  /** Called when the connection has broken or could not be made. */
  onReset(): void;
}

/** A connection that is kept open from request to request. */
export interface DownloadConnection {
  readonly closed: boolean;
  request(range: ByteRange, receiver: DownloadReceiver): void;
  close(): void;
}

/** A source of a download's bytes: `SimulatedSource`, or another simulation. */
export interface DownloadSource {
  readonly id: string;
  connect(): DownloadConnection;
}

export interface SimulatedDownloadOptions {
  readonly clock: VirtualClock;
  readonly chooser: Chooser;
  readonly sources: readonly DownloadSource[];
  /** Connections to each source, T in LOCI 3.2. */
  readonly connectionsPerSource: number;
  readonly timeoutMs?: Millis;
  readonly seed?: number;
  /** Called whenever bytes have come in. */
  readonly onProgress?: (download: SimulatedDownload) => void;
}

/** The time at which the file was complete up to a position, for its readers. */
export interface Milestone {
  readonly at: Millis;
  /** Every byte below this position has come in. */
  readonly position: number;
}

export class SimulatedDownload {
  readonly #options: SimulatedDownloadOptions;
  readonly #connections: Connection[] = [];
  readonly stored = new RangeSet();
  readonly milestones: Milestone[] = [];
  #stopped = false;
  /** Number of requests made. */
  requests = 0;
  /** Bytes that have come in, duplicates included. */
  receivedBytes = 0;

  constructor(options: SimulatedDownloadOptions) {
    this.#options = options;
    const random = seededRandom(options.seed ?? 1);
    for (const source of options.sources) {
      const state = { source, health: new SourceHealth(random), heardAt: Number.NEGATIVE_INFINITY };
      for (let i = 0; i < options.connectionsPerSource; i++) {
        this.#connections.push(new Connection(this, options, state));
      }
    }
  }

  /**
   * Runs until every byte has come in.
   *
   * @returns how long it took
   * @throws Error if it takes longer than `limit`
   */
  run(limit: Millis = 3_600_000): Millis {
    const { clock, chooser } = this.#options;
    const startedAt = clock.now;
    this.start();
    if (!clock.run(() => chooser.done, startedAt + limit)) {
      throw new Error(`${this.stored.bytes} bytes after ${clock.now - startedAt} ms`);
    }
    this.stop();
    return clock.now - startedAt;
  }

  /** Asks for work now and at intervals, until `stop`. */
  start(): void {
    if (this.#stopped) return;
    this.wake();
    this.#options.clock.in(ASK_AGAIN_MS, () => this.start());
  }

  stop(): void {
    this.#stopped = true;
    for (const connection of this.#connections) connection.cancel();
  }

  /** Lets idle connections ask for work, after a change. */
  wake(): void {
    if (this.#stopped) return;
    for (const connection of this.#connections) connection.ask();
  }

  onBytes(assignment: Assignment, range: ByteRange): void {
    const { clock, chooser } = this.#options;
    this.receivedBytes += range.end - range.start;
    this.stored.add(range);
    const position = this.stored.ranges[0]?.start === 0 ? (this.stored.ranges[0]?.end ?? 0) : 0;
    if (position > (this.milestones.at(-1)?.position ?? 0)) {
      this.milestones.push({ at: clock.now, position });
    }
    const outdone = chooser.onBytes(assignment, range, clock.now);
    for (const c of this.#connections) if (outdone.some((a) => c.does(a))) c.cancel();
    this.#options.onProgress?.(this);
  }
}

/** State that the connections to one source share. */
interface SourceState {
  readonly source: DownloadSource;
  readonly health: SourceHealth;
  /** When the source last sent something, on any connection. */
  heardAt: Millis;
}

/** One of the connections that a download may use at a time. */
class Connection {
  readonly #download: SimulatedDownload;
  readonly #options: SimulatedDownloadOptions;
  readonly #state: SourceState;
  #tcp: DownloadConnection | undefined;
  #assignment: Assignment | undefined;
  #at = 0;
  #askedAt: Millis = 0;
  #heardAt: Millis = 0;

  constructor(download: SimulatedDownload, options: SimulatedDownloadOptions, state: SourceState) {
    this.#download = download;
    this.#options = options;
    this.#state = state;
  }

  does(assignment: Assignment): boolean {
    return this.#assignment === assignment;
  }

  ask(): void {
    const { clock, chooser, timeoutMs = 20_000 } = this.#options;
    if (this.#assignment !== undefined) {
      if (clock.now - this.#heardAt > timeoutMs) this.#fail('origin-timeout');
      return;
    }
    const { source, health } = this.#state;
    if ((health.usableAt() ?? Number.POSITIVE_INFINITY) > clock.now) return;
    const assignment = chooser.next(source.id, clock.now);
    if (assignment === undefined) return;
    this.#assignment = assignment;
    this.#at = assignment.range.start;
    this.#askedAt = this.#heardAt = clock.now;
    this.#download.requests++;
    if (this.#tcp === undefined || this.#tcp.closed) this.#tcp = source.connect();
    this.#tcp.request(assignment.range, {
      onData: (bytes) => this.#onData(assignment, bytes),
      onReset: () => this.#fail('origin-reset'),
    });
  }

  cancel(): void {
    this.#end('cancelled', false);
  }

  #onData(assignment: Assignment, bytes: number): void {
    if (this.#assignment !== assignment) return;
    const range = { start: this.#at, end: Math.min(this.#at + bytes, assignment.end) };
    this.#heardAt = this.#state.heardAt = this.#options.clock.now;
    this.#state.health.onBytes();
    if (range.end > range.start) {
      this.#at = range.end;
      this.#download.onBytes(assignment, range);
    }
    if (this.#assignment !== assignment || this.#at < assignment.end) return;
    // Close the connection if another request took over the rest: this answer has not ended yet.
    this.#end('complete', assignment.end === assignment.range.end);
  }

  #fail(code: 'origin-reset' | 'origin-timeout'): void {
    if (this.#assignment !== undefined) {
      // A source that has sent something since the request, on any connection, is not down.
      const isAlive = this.#state.heardAt >= this.#askedAt;
      this.#state.health.onFailure(new MillraceError(code), isAlive, this.#options.clock.now);
    }
    this.#end('failed', false);
  }

  #end(outcome: 'complete' | 'failed' | 'cancelled', keepOpen: boolean): void {
    const assignment = this.#assignment;
    this.#assignment = undefined;
    if (!keepOpen) this.#tcp?.close();
    if (assignment === undefined) return;
    this.#options.chooser.onEnd(assignment, outcome, this.#options.clock.now);
    // Wake later, so that a caller that ends several requests can end all of them first.
    this.#options.clock.in(0, () => this.#download.wake());
  }
}
