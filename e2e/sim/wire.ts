/**
 * The simulated network's wires. A link sends its pieces first come, first served; a flow hands
 * over a few pieces at a time and the next as earlier ones arrive, so that flows over one link
 * share it about evenly, whichever end is the narrow one, and a flow gets at most `WINDOW_PIECES`
 * pieces per round trip.
 *
 * With pieces as large as chunks, a third of the events remain. Then flows share a link by turns of
 * a whole chunk, no flow is limited per round trip, and of a chunk under way nothing is known until
 * all of it is there: competing requests begin later, or not at all.
 *
 * Not modelled: loss, slow start, headers, set-up of connections, and queues that overflow.
 * Requests and heartbeats take time but no bandwidth. Pieces on their way when a flow was cancelled
 * still take their place on the links.
 */

import type { Millis } from '@millrace/shared/base/clock';
import type { Simulation } from './simulation.ts';

/** Pieces of one flow under way at a time. */
const WINDOW_PIECES = 4;

/** One direction of an access link. */
export class Link implements Wire {
  /** May change at any time, for pieces sent from then on. */
  bytesPerMs: number;
  /** Bytes that it has been given to send. */
  bytes = 0;
  #freeAt: Millis = 0;

  constructor(mbitPerS: number) {
    this.bytesPerMs = mbitPerS * 125;
  }

  /** @returns when the first and the last of the bytes is through */
  send(bytes: number, now: Millis): { readonly first: Millis; readonly last: Millis } {
    this.bytes += bytes;
    const first = Math.max(now, this.#freeAt);
    const last = first + bytes / this.bytesPerMs;
    this.#freeAt = last;
    return { first, last };
  }
}

/** A line that bytes can be handed to. */
export interface Wire {
  send(bytes: number, now: Millis): { readonly first: Millis; readonly last: Millis };
}

/** A machine's place on the wires. */
export interface Host {
  readonly up: Wire;
  readonly down: Wire;
}

/** A wire as a response that is a part of whole chunks uses it: the rest of them costs nothing. */
export class PartWire implements Wire {
  readonly #wire: Wire;
  readonly #start: number;
  readonly #end: number;
  #at = 0;

  /** @param start, end the part, in bytes from the beginning of the first chunk */
  constructor(wire: Wire, start: number, end: number) {
    this.#wire = wire;
    this.#start = start;
    this.#end = end;
  }

  send(bytes: number, now: Millis) {
    const from = Math.max(this.#at, this.#start);
    this.#at += bytes;
    return this.#wire.send(Math.max(0, Math.min(this.#at, this.#end) - from), now);
  }
}

export interface FlowOptions {
  readonly from: Host;
  readonly to: Host;
  /** One way. */
  readonly delayMs: Millis;
  readonly bytes: number;
  readonly pieceBytes: number;
  /** False while nothing gets from one to the other: then the flow stands still for ever. */
  readonly connected: () => boolean;
  /** Told of bytes that have arrived, `left` being still to come. */
  readonly onBytes: (count: number, left: number) => void;
  /** Called when the last piece has been handed over: the connection's next flow can begin. */
  readonly onHandedOver?: () => void;
}

export class Flow {
  readonly #sim: Simulation;
  readonly #options: FlowOptions;
  #unsent: number;
  #missing: number;
  #inFlight = 0;
  #cancelled = false;

  constructor(sim: Simulation, options: FlowOptions) {
    this.#sim = sim;
    this.#options = options;
    this.#unsent = options.bytes;
    this.#missing = options.bytes;
    this.#pump();
  }

  cancel(): void {
    this.#cancelled = true;
  }

  #pump(): void {
    const { clock } = this.#sim;
    const { from, delayMs, pieceBytes } = this.#options;
    while (!this.#cancelled && this.#unsent > 0 && this.#inFlight < WINDOW_PIECES) {
      const piece = Math.min(pieceBytes, this.#unsent);
      this.#unsent -= piece;
      this.#inFlight++;
      const { first, last } = from.up.send(piece, clock.now);
      clock.at(first + delayMs, () => this.#reached(piece, last + delayMs));
      if (this.#unsent === 0) this.#options.onHandedOver?.();
    }
  }

  /** The first byte of a piece is at the other end's access link; the last will be there later. */
  #reached(piece: number, last: Millis): void {
    const { clock } = this.#sim;
    this.#sim.quiet();
    if (!this.#options.connected()) return;
    const through = this.#options.to.down.send(piece, clock.now).last;
    clock.at(Math.max(through, last), () => this.#arrived(piece));
  }

  #arrived(piece: number): void {
    const { clock } = this.#sim;
    const { delayMs, connected, onBytes } = this.#options;
    this.#missing -= piece;
    if (this.#missing > 0) this.#sim.quiet();
    if (this.#unsent > 0) {
      clock.in(delayMs, () => {
        this.#sim.quiet();
        this.#inFlight--;
        this.#pump();
      });
    }
    if (!this.#cancelled && connected()) onBytes(piece, this.#missing);
  }
}
