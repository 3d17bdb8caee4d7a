/**
 * Clients that read from one edge over one line, by packets: a queue of a fixed length, and senders
 * that lose what finds it full, repeat it by acknowledgements or by timeouts, and tell their state as
 * Linux does. Slow start, halving and the doubling of timeouts are modelled; probes of lost tails and
 * pacing are not.
 */

import { type Millis, type Random, seededRandom } from '../src/base/clock.ts';
import { ClientSilence, type SilentClient } from '../src/cdn/clients/client-silence.ts';
import type { TcpState } from '../src/cdn/clients/vanished-client.ts';
import { VirtualClock } from './virtual-clock.ts';

const PACKET_BITS = 12_000;
const FIRST_WINDOW = 10;
/** Most packets under way, by the buffer of the receiver. */
const MOST_WINDOW = 32;
const MIN_TIMEOUT_MS = 200;
const MAX_TIMEOUT_MS = 120_000;
/** Later packets that were acknowledged before one counts as lost. */
const REORDERED = 3;

/** Interval between looks at silent clients, as edges have it; here all are looked at. */
const EVERY_MS = 50;

interface LineOptions {
  readonly mbit: number;
  /** Round trip without a queue. */
  readonly rttMs: Millis;
  /** Most packets that wait. */
  readonly queue: number;
  /** Share of packets that are lost at random, in addition. */
  readonly loss?: number;
  readonly random: Random;
}

class CrowdedLine {
  readonly clock = new VirtualClock();
  readonly #options: LineOptions;
  #freeAt: Millis = 0;
  readonly connections: Connection[] = [];
  /** Packets that reached clients. */
  delivered = 0;

  constructor(options: LineOptions) {
    this.#options = options;
  }

  /** Starts a connection that has data without end. */
  connect(): Connection {
    const connection = new Connection(this, this.#options.rttMs);
    this.connections.push(connection);
    return connection;
  }

  /** Sends a packet. @param onAck called when its acknowledgement is back */
  send(from: Connection, onAck: () => void): void {
    const { mbit, rttMs, queue, loss = 0, random } = this.#options;
    const { now } = this.clock;
    const packetMs = PACKET_BITS / (mbit * 1000);
    if ((this.#freeAt - now) / packetMs >= queue) return;
    this.#freeAt = Math.max(now, this.#freeAt) + packetMs;
    if (random() < loss) return;
    this.clock.at(this.#freeAt + rttMs, () => {
      if (from.hasVanished || from.isClosed) return;
      this.delivered++;
      onAck();
    });
  }

  /** Lets time pass. */
  pass(ms: Millis): void {
    const until = this.clock.now + ms;
    let isOver = false;
    this.clock.at(until, () => {
      isOver = true;
    });
    this.clock.run(() => isOver, until);
  }
}

interface Packet {
  readonly number: number;
  readonly sentAt: Millis;
  /** True if it was sent again: its round trip tells nothing. */
  readonly isRepeat: boolean;
}

class Connection {
  readonly #line: CrowdedLine;
  hasVanished = false;
  isClosed = false;
  #window = FIRST_WINDOW;
  #threshold = Number.POSITIVE_INFINITY;
  #next = 0;
  /** Packets under way, by number; those sent again have their last sending. */
  readonly #flying = new Map<number, Packet>();
  readonly #lost = new Set<number>();
  #highest = -1;
  #recoverUntil = -1;
  #rtt: Millis;
  #variance: Millis;
  #backoff = 0;
  /** Number of the timer that is running: earlier ones are void. */
  #timer = 0;
  #lastSentAt: Millis;
  #lastAckAt: Millis;

  constructor(line: CrowdedLine, rttMs: Millis) {
    this.#line = line;
    this.#rtt = rttMs;
    this.#variance = rttMs / 2;
    this.#lastSentAt = line.clock.now;
    this.#lastAckAt = line.clock.now;
    this.#fill();
    this.#arm();
  }

  state(): TcpState {
    const { now } = this.#line.clock;
    return {
      retransmits: this.#backoff,
      probes: 0,
      unacked: this.#flying.size + this.#lost.size,
      unsentBytes: 1e6,
      lastSentMs: now - this.#lastSentAt,
      lastAckMs: now - this.#lastAckAt,
    };
  }

  #timeoutMs(): Millis {
    const base = this.#rtt + Math.max(MIN_TIMEOUT_MS, 4 * this.#variance);
    return Math.min(MAX_TIMEOUT_MS, base * 2 ** this.#backoff);
  }

  #arm(delayMs = 0): void {
    const timer = ++this.#timer;
    this.#line.clock.in(delayMs + this.#timeoutMs(), () => {
      if (timer === this.#timer && !this.isClosed) this.#onTimeout();
    });
  }

  #onTimeout(): void {
    for (const number of this.#flying.keys()) this.#lost.add(number);
    this.#flying.clear();
    this.#threshold = Math.max(2, this.#window / 2);
    this.#window = 1;
    this.#backoff++;
    this.#recoverUntil = this.#next;
    this.#fill();
    this.#arm();
  }

  #fill(): void {
    while (this.#flying.size < Math.floor(this.#window)) {
      const [lost] = this.#lost;
      if (lost !== undefined) this.#lost.delete(lost);
      this.#send(lost ?? this.#next++, lost !== undefined);
    }
  }

  #send(number: number, isRepeat: boolean): void {
    const { clock } = this.#line;
    this.#lastSentAt = clock.now;
    const packet = { number, sentAt: clock.now, isRepeat };
    this.#flying.set(number, packet);
    this.#line.send(this, () => this.#onAck(packet));
  }

  #onAck({ number, sentAt, isRepeat }: Packet): void {
    const { now } = this.#line.clock;
    if (this.isClosed) return;
    this.#lastAckAt = now;
    const isNew = this.#flying.delete(number) || this.#lost.delete(number);
    if (!isNew) return;
    if (!isRepeat) this.#measure(now - sentAt);
    this.#highest = Math.max(this.#highest, number);
    this.#findLost();
    const growth = this.#window < this.#threshold ? 1 : 1 / this.#window;
    this.#window = Math.min(MOST_WINDOW, this.#window + growth);
    this.#backoff = 0;
    this.#fill();
    this.#arm();
  }

  #findLost(): void {
    let isNew = false;
    for (const [number, { isRepeat }] of this.#flying) {
      // Only the timeout finds a repeated packet lost.
      if (number > this.#highest - REORDERED || isRepeat) continue;
      this.#flying.delete(number);
      this.#lost.add(number);
      if (number >= this.#recoverUntil) isNew = true;
    }
    if (!isNew) return;
    this.#recoverUntil = this.#next;
    this.#threshold = Math.max(2, this.#window / 2);
    this.#window = this.#threshold;
  }

  #measure(rtt: Millis): void {
    this.#variance = 0.75 * this.#variance + 0.25 * Math.abs(this.#rtt - rtt);
    this.#rtt = 0.875 * this.#rtt + 0.125 * rtt;
  }
}

interface WatchedLineOptions extends Omit<LineOptions, 'random'> {
  readonly seed: number;
  readonly clients: number;
  /** Time within which the clients come. */
  readonly spreadMs: Millis;
}

/** A line, and the edge that watches which of its clients vanish. */
export class WatchedLine {
  readonly line: CrowdedLine;
  readonly watched = new Map<Connection, SilentClient>();
  /** Number of live clients that were taken for vanished; each comes back. */
  spurious = 0;
  /** Times after which those that vanished were found. */
  readonly foundMs: Millis[] = [];
  readonly #silence = new ClientSilence();
  #goneAt: Millis = 0;

  constructor({ seed, clients, spreadMs, ...options }: WatchedLineOptions) {
    const random = seededRandom(seed);
    this.line = new CrowdedLine({ ...options, random });
    for (let i = 0; i < clients; i++)
      this.line.clock.at(spreadMs * random(), () => this.#connect());
  }

  #connect(): void {
    this.watched.set(this.line.connect(), this.#silence.watch('line'));
  }

  /** Lets some of the clients vanish that are watched, the oldest connections first. */
  vanish(count: number): void {
    this.#goneAt = this.line.clock.now;
    for (const connection of [...this.watched.keys()].slice(0, count)) {
      connection.hasVanished = true;
    }
  }

  pass(ms: Millis): void {
    for (let left = ms; left > 0; left -= EVERY_MS) {
      this.line.pass(EVERY_MS);
      for (const [connection, client] of this.watched) this.#look(connection, client);
    }
  }

  #look(connection: Connection, client: SilentClient): void {
    const { clock } = this.line;
    if (!this.#silence.observe(client, connection.state(), true, clock.now)) return;
    connection.isClosed = true;
    this.#silence.unwatch(client);
    this.watched.delete(connection);
    if (connection.hasVanished) {
      this.foundMs.push(clock.now - this.#goneAt);
      return;
    }
    this.spurious++;
    this.#connect();
  }
}
