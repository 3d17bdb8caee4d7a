/**
 * The wires of the simulated network. A link sends its pieces first come, first served. A flow
 * hands over a few pieces at a time, and the next as earlier ones arrive. Flows over one link
 * therefore share it about evenly, whichever end is narrower, and a flow gets at most
 * `WINDOW_PIECES` pieces per round trip.
 *
 * With pieces as large as chunks, a third of the events remain. Then flows share a link by turns of
 * a whole chunk, no flow is limited per round trip, and the progress of a chunk is unknown until
 * all of it has arrived: competing requests begin later, or not at all.
 *
 * Not modelled: loss, slow start, headers, connection set-up, and queues that overflow. Requests
 * and heartbeats take time but no bandwidth. Pieces in flight when a flow is cancelled still take
 * their place on the links.
 */

import type { Millis } from '@millrace/shared/base/clock';
import type { Simulation } from './simulation.ts';

/** Most pieces of one flow in flight. */
const WINDOW_PIECES = 4;

/** One direction of an access link. */
export class Link implements Wire {
  /** Rate for pieces sent from now on; it may change at any time. */
  bytesPerMs: number;
  /** Bytes given to the link so far. */
  bytes = 0;
  /** Time at which the last byte given to the link so far is through. */
  freeAt: Millis = 0;

  constructor(mbitPerS: number) {
    this.bytesPerMs = mbitPerS * 125;
  }

  /** Sends bytes. @returns times at which the first and the last byte are through */
  send(bytes: number, now: Millis): { readonly first: Millis; readonly last: Millis } {
    this.bytes += bytes;
    const first = Math.max(now, this.freeAt);
    const last = first + bytes / this.bytesPerMs;
    this.freeAt = last;
    return { first, last };
  }
}

/** A line that takes bytes. */
export interface Wire {
  send(bytes: number, now: Millis): { readonly first: Millis; readonly last: Millis };
}

/** A connection that is slower than the link it goes over. */
export class NarrowWire implements Wire {
  readonly #link: Wire;
  readonly #own: Link;

  constructor(link: Wire, mbitPerS: number) {
    this.#link = link;
    this.#own = new Link(mbitPerS);
  }

  send(bytes: number, now: Millis) {
    const [own, shared] = [this.#own.send(bytes, now), this.#link.send(bytes, now)];
    return { first: Math.max(own.first, shared.first), last: Math.max(own.last, shared.last) };
  }
}

/** A machine's two lines to the network. */
export interface Host {
  readonly up: Wire;
  readonly down: Wire;
}

/** A wire for a response that is a part of whole chunks: the rest of the chunks costs nothing. */
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
  /** One-way delay. */
  readonly delayMs: Millis;
  readonly bytes: number;
  readonly pieceBytes: number;
  /** Returns false while nothing gets from one end to the other: then the flow stops for ever. */
  readonly connected: () => boolean;
  /** Called when bytes have arrived; `left` bytes are still to come. */
  readonly onBytes: (count: number, left: number) => void;
  /**
   * Called when the last piece has been handed over, so that the connection's next flow can begin.
   */
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

  /**
   * Handles the arrival of a piece's first byte at the other end's access link; the last byte
   * follows.
   */
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
