/**
 * Shares one rate limit among downloads. The download with the fewest bytes served is next
 * (start-time fair queueing; round robin if all ask for the same number), and its own requests are
 * served in order. So a download with thirty connections gets no more than a download with two,
 * and no connection starves.
 */

import type { Millis } from '../../base/clock.ts';
import { TokenBucket } from '../../base/token-bucket.ts';

/** Largest burst after an idle time, in seconds of the rate. */
const BURST_SECONDS = 0.25;

interface Ticket {
  readonly bytes: number;
  readonly id: number;
}

interface Share {
  readonly tickets: Ticket[];
  /** Bytes served, in virtual time: a download that returns starts level with the others. */
  served: number;
}

export class FairShare<K> {
  readonly #shares = new Map<K, Share>();
  #bucket: TokenBucket | undefined;
  #rate: number | undefined;
  #nextId = 1;
  /** Virtual time: `served` of the last served share, before it was served. */
  #time = 0;
  #waiting = 0;

  /** @param rate bytes per second, more than 0; undefined: no limit */
  constructor(rate: number | undefined, now: Millis) {
    this.setRate(rate, now);
  }

  get rate(): number | undefined {
    return this.#rate;
  }

  /** Tickets not granted yet. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Changes the limit; waiting tickets are served at the new rate. */
  setRate(rate: number | undefined, now: Millis): void {
    if (rate === this.#rate && (rate === undefined || this.#bucket !== undefined)) return;
    this.#rate = rate;
    this.#bucket =
      rate === undefined ? undefined : new TokenBucket(rate, rate * BURST_SECONDS, now);
  }

  /**
   * Asks for bytes.
   *
   * @returns undefined if they are granted at once, otherwise a ticket that `grant` will name
   */
  ask(key: K, bytes: number, now: Millis): number | undefined {
    if (this.#bucket === undefined && this.#waiting === 0) return undefined;
    const share = this.#shareOf(key);
    if (this.#waiting === 0 && this.#bucket?.waitMs(now) === 0) {
      this.#serve(share, bytes, now);
      return undefined;
    }
    const id = this.#nextId++;
    if (share.tickets.length === 0) share.served = Math.max(share.served, this.#time);
    share.tickets.push({ bytes, id });
    this.#waiting++;
    return id;
  }

  /**
   * Grants the tickets that can be granted now.
   *
   * @returns their ids, in order, and when to call again while others wait
   */
  grant(now: Millis): { granted: number[]; nextAt: Millis | undefined } {
    const granted: number[] = [];
    while (this.#waiting > 0) {
      const wait = this.#bucket?.waitMs(now) ?? 0;
      if (wait > 0) return { granted, nextAt: now + wait };
      const share = this.#next();
      const ticket = share.tickets.shift() as Ticket;
      this.#waiting--;
      this.#serve(share, ticket.bytes, now);
      granted.push(ticket.id);
    }
    return { granted, nextAt: undefined };
  }

  /** Cancels a ticket that is no longer waited for. */
  cancel(key: K, id: number): void {
    const tickets = this.#shares.get(key)?.tickets;
    const at = tickets?.findIndex((ticket) => ticket.id === id) ?? -1;
    if (at < 0) return;
    tickets?.splice(at, 1);
    this.#waiting--;
  }

  /** Forgets a download that has ended, and its tickets. */
  leave(key: K): void {
    this.#waiting -= this.#shares.get(key)?.tickets.length ?? 0;
    this.#shares.delete(key);
  }

  #shareOf(key: K): Share {
    let share = this.#shares.get(key);
    if (share === undefined) {
      share = { tickets: [], served: this.#time };
      this.#shares.set(key, share);
    }
    return share;
  }

  #serve(share: Share, bytes: number, now: Millis): void {
    share.served = Math.max(share.served, this.#time);
    this.#time = share.served;
    share.served += bytes;
    this.#bucket?.take(bytes, now);
  }

  #next(): Share {
    let next: Share | undefined;
    for (const share of this.#shares.values()) {
      if (share.tickets.length === 0) continue;
      if (next === undefined || share.served < next.served) next = share;
    }
    return next as Share;
  }
}
