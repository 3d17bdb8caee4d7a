/**
 * Simulates many TCP connections over one path in ticks: slow start and CUBIC windows (RFC 9438),
 * a line with a queue, random losses, a limit for each connection, and rivals on the same line.
 * Coarser than `SimulatedSource`, but with losses.
 */

import type { Millis, Random } from '../src/base/clock.ts';

const PACKET_BYTES = 1460;
const FIRST_WINDOW = 10;
/** CUBIC's constants: the scaling factor, and the share of the window that a loss leaves. */
const C = 0.4;
const BETA = 0.7;

export interface SimulatedPathOptions {
  readonly bytesPerSecond: number;
  readonly rttMs: Millis;
  /** Share of packets lost at random. */
  readonly loss: number;
  /** Longest wait in the queue before the line. */
  readonly queueMs: Millis;
  /** Most bytes per second of one connection; undefined: no limit. */
  readonly perConnection?: number | undefined;
  readonly random: Random;
}

/** One connection's window, in packets. */
export class PathConnection {
  window = FIRST_WINDOW;
  slowStart = true;
  /** Window at the last loss, and the time since then in ms. */
  #before = 0;
  #sinceMs = 0;
  /** Time during which one more loss counts as the same one. */
  #quietMs = 0;
  /** Time until the first packets of a request arrive. */
  waitMs: Millis;

  constructor(waitMs: Millis) {
    this.waitMs = waitMs;
  }

  /** @param leastMs round trip without a queue */
  grow(ms: Millis, rttMs: Millis, leastMs: Millis): void {
    this.#quietMs = Math.max(0, this.#quietMs - ms);
    // HyStart (RFC 9406): slow start ends where a queue begins.
    if (this.slowStart && rttMs > leastMs + clamp(leastMs / 8, 4, 16)) {
      this.slowStart = false;
      this.#before = this.window;
      this.#sinceMs = 1000 * Math.cbrt((this.window * (1 - BETA)) / C);
    }
    if (this.slowStart) {
      this.window *= 2 ** (ms / rttMs);
      return;
    }
    this.#sinceMs += ms;
    const k = Math.cbrt((this.#before * (1 - BETA)) / C);
    const cubic = C * (this.#sinceMs / 1000 - k) ** 3 + this.#before;
    const reno = this.#before * BETA + ((3 * (1 - BETA)) / (1 + BETA)) * (this.#sinceMs / rttMs);
    this.window = Math.max(2, cubic, reno);
  }

  /** Begins anew after a pause (RFC 5681, 4.1). */
  restart(): void {
    this.window = Math.min(this.window, FIRST_WINDOW);
    this.slowStart = true;
  }

  lose(rttMs: Millis): void {
    if (this.#quietMs > 0) return;
    this.#before = this.window;
    this.#sinceMs = 0;
    this.#quietMs = rttMs;
    this.window = Math.max(2, this.window * BETA);
    this.slowStart = false;
  }
}

export class SimulatedPath {
  readonly #options: SimulatedPathOptions;
  #queue = 0;
  /** Packets that the full queue has dropped. */
  dropped = 0;

  constructor(options: SimulatedPathOptions) {
    this.#options = options;
  }

  /** Round trip at present, with the wait in the queue. */
  get rttMs(): Millis {
    const { rttMs, bytesPerSecond } = this.#options;
    return rttMs + (this.#queue * PACKET_BYTES * 1000) / bytesPerSecond;
  }

  /** Lets all connections send for a tick. @returns the bytes that each has brought */
  tick(connections: readonly PathConnection[], ms: Millis): number[] {
    const { bytesPerSecond, rttMs, loss, queueMs, perConnection, random } = this.#options;
    const rtt = this.rttMs;
    const most = ((perConnection ?? Number.POSITIVE_INFINITY) * ms) / 1000 / PACKET_BYTES;
    const sent = connections.map((connection) => {
      connection.waitMs -= ms;
      return connection.waitMs > 0 ? 0 : Math.min(most, (connection.window * ms) / rtt);
    });
    const all = sent.reduce((sum, packets) => sum + packets, 0);
    const line = (bytesPerSecond * ms) / 1000 / PACKET_BYTES;
    const room = (bytesPerSecond * queueMs) / 1000 / PACKET_BYTES;
    const waiting = this.#queue + all;
    const passed = Math.min(waiting, line);
    const overflow = Math.max(0, waiting - passed - room);
    this.#queue = waiting - passed - overflow;
    this.dropped += overflow;
    return connections.map((connection, i) => {
      const packets = sent[i] as number;
      if (packets === 0) return 0;
      const share = packets / all;
      const lost = packets * loss + (overflow > 0 ? overflow * share : 0);
      if (random() < 1 - Math.exp(-lost)) connection.lose(rtt);
      else if (packets < most) connection.grow(ms, rtt, rttMs);
      return passed * share * PACKET_BYTES * (1 - loss);
    });
  }
}

function clamp(value: number, min: number, max: number): number {
  return Math.max(min, Math.min(max, value));
}
