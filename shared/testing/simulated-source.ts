/**
 * Simulates servers of one file behind links with a rate and a delay, and TCP connections to them
 * with set-up, slow start, shared links and windows. Losses are not modelled; a full queue ends
 * slow start.
 */

import type { ByteRange } from '../src/base/byte-range.ts';
import type { Millis } from '../src/base/clock.ts';
import type { VirtualClock } from './virtual-clock.ts';

/** First window of a connection: ten full segments (RFC 6928). */
const INITIAL_WINDOW_BYTES = 14_600;
/** Limits for the bundles in which segments are sent, so that the simulation costs little. */
const MIN_BUNDLE_BYTES = 2 * 1460;
const MAX_BUNDLE_BYTES = 64 * 1024;
/** Longest wait in a queue: real queues drop packets beyond it, and senders slow down. */
const QUEUE_MS = 100;

/** One direction of a cable: first come, first served. */
export interface Link {
  /** Sends bytes that arrive at `at`. @returns the time at which the last byte is through */
  send(bytes: number, at: Millis): Millis;
}

/** A link whose rate never changes. */
export class SimulatedLink implements Link {
  readonly bytesPerSecond: number;
  #freeAt: Millis = 0;

  constructor(bytesPerSecond: number) {
    this.bytesPerSecond = bytesPerSecond;
  }

  send(bytes: number, at: Millis): Millis {
    this.#freeAt = Math.max(at, this.#freeAt) + (bytes * 1000) / this.bytesPerSecond;
    return this.#freeAt;
  }
}

export interface SimulatedSourceOptions {
  readonly id: string;
  /** Links from the server to the client, in this order; several sources can share one. */
  readonly links: readonly Link[];
  readonly rttMs: Millis;
  /** Most bytes in flight on one connection: window sizes limit old or far servers. */
  readonly windowBytes?: number;
}

export interface Receiver {
  onData(bytes: number): void;
  /** Called when the connection has broken. */
  onReset(): void;
}

export class SimulatedSource {
  readonly id: string;
  readonly clock: VirtualClock;
  readonly o: SimulatedSourceOptions;
  readonly #connections = new Set<SimulatedConnection>();
  #stalled = false;

  constructor(clock: VirtualClock, options: SimulatedSourceOptions) {
    this.id = options.id;
    this.clock = clock;
    this.o = options;
  }

  get stalled(): boolean {
    return this.#stalled;
  }

  connect(): SimulatedConnection {
    const connection = new SimulatedConnection(this);
    this.#connections.add(connection);
    return connection;
  }

  /** Stops sending on all connections without closing them, or continues. */
  stall(stalled: boolean): void {
    this.#stalled = stalled;
    for (const connection of this.#connections) connection.pump();
  }

  /** Breaks off all established connections. */
  reset(): void {
    for (const connection of [...this.#connections]) connection.reset();
  }

  forget(connection: SimulatedConnection): void {
    this.#connections.delete(connection);
  }
}

/** A TCP connection, kept open from request to request. */
export class SimulatedConnection {
  readonly #source: SimulatedSource;
  #establishedAt: Millis | undefined;
  #closed = false;
  /** True once the server has broken off the connection, even if the client does not know yet. */
  #broken = false;
  #receiver: Receiver | undefined;
  /** Bytes of the answer that have not been sent. */
  #left = 0;
  #inFlight = 0;
  #window = INITIAL_WINDOW_BYTES;
  #slowStart = true;
  #slowedAt: Millis = Number.NEGATIVE_INFINITY;

  constructor(source: SimulatedSource) {
    this.#source = source;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Requests bytes. The first request also sets up the connection, for 1.5 more round trips. */
  request(range: ByteRange, receiver: Receiver): void {
    const { clock, o } = this.#source;
    this.#receiver = receiver;
    const setUp = this.#establishedAt === undefined ? 1.5 * o.rttMs : 0;
    this.#establishedAt ??= clock.now + setUp;
    clock.in(setUp + o.rttMs / 2, () => {
      if (this.#broken) return;
      this.#left = range.end - range.start;
      this.pump();
    });
  }

  /** Closes the connection at the client. */
  close(): void {
    this.#closed = true;
    this.#receiver = undefined;
    this.#source.forget(this);
  }

  /** Breaks off the connection at the server; bytes sent before still arrive. */
  reset(): void {
    const { clock } = this.#source;
    if (this.#establishedAt === undefined || this.#establishedAt > clock.now) return;
    this.#broken = true;
    this.#left = 0;
    clock.at(this.#arrival(0), () => {
      const receiver = this.#receiver;
      this.close();
      receiver?.onReset();
    });
  }

  /** Sends as many bytes as the window allows. */
  pump(): void {
    if (this.#source.stalled) return;
    while (!this.#closed && this.#left > 0 && this.#inFlight < this.#window) {
      const share = Math.max(MIN_BUNDLE_BYTES, Math.floor(this.#window / 4));
      this.#send(Math.min(this.#left, share, MAX_BUNDLE_BYTES));
    }
  }

  #send(bytes: number): void {
    const { clock, o } = this.#source;
    this.#left -= bytes;
    this.#inFlight += bytes;
    const arrival = this.#arrival(bytes);
    if (arrival - clock.now - o.rttMs / 2 > QUEUE_MS) this.#slowDown();
    clock.at(arrival, () => this.#receiver?.onData(bytes));
    clock.at(arrival + o.rttMs / 2, () => {
      this.#inFlight -= bytes;
      const growth = this.#slowStart ? bytes : (MIN_BUNDLE_BYTES * bytes) / this.#window / 2;
      this.#window = Math.min(o.windowBytes ?? Number.POSITIVE_INFINITY, this.#window + growth);
      this.pump();
    });
  }

  #slowDown(): void {
    const { clock, o } = this.#source;
    if (clock.now - this.#slowedAt < o.rttMs + QUEUE_MS) return;
    this.#slowedAt = clock.now;
    this.#slowStart = false;
    this.#window = Math.max(MIN_BUNDLE_BYTES * 2, this.#window / 2);
  }

  #arrival(bytes: number): Millis {
    const { clock, o } = this.#source;
    return o.links.reduce((at, link) => link.send(bytes, at), clock.now) + o.rttMs / 2;
  }
}
