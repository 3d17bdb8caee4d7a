/**
 * How fast a client takes the slices of a response, and how many it needs ahead. A client whose own
 * line is far slower than the network is served just in time (WORLDS 4.1; NSDI 5.5: a window no
 * larger than saturating the client needs). More would only hold memory, and would have been fetched
 * in vain if the client leaves.
 *
 * The pace counts only while the client has something to take. A client that is kept waiting takes
 * whatever comes, so its pace is not known, and nothing is held back until it has shown a new one.
 */

import type { Millis } from '../../base/clock.ts';
import { Estimate } from '../../base/estimate.ts';

/** Fewest slices ahead, the one that the client takes included. */
export const MIN_AHEAD = 2;
/** Most slices ahead of a slow client. One that needs more has about the pace of the network. */
export const MAX_AHEAD = 8;
/** Slices that a client must have taken without a wait before its pace counts. */
export const MIN_TAKEN = 4;
/** Factor on the forecast: the next slice may come from a node slower than all of those so far. */
export const FORECAST_FACTOR = 4;
/** Least time that a slice is requested before the client needs it: a busy process reads late. */
export const MIN_LEAD_MS = 500;

export class ClientPace {
  /** Milliseconds that the client needs for a slice. */
  #taking = new Estimate();
  /** Slices that the client's socket has and the client has not taken. */
  #handed = 0;
  /** When the client began with the slice that it is taking. */
  #since: Millis = 0;

  /** A slice is handed to the client's socket. */
  onHanded(now: Millis): void {
    if (this.#handed++ === 0) this.#since = now;
  }

  /** The client's socket has taken the oldest of the slices that it was handed. */
  onTaken(now: Millis): void {
    this.#taking.add(now - this.#since);
    this.#since = now;
    if (--this.#handed === 0) this.#taking = new Estimate();
  }

  /**
   * Returns how many slices the client needs ahead, so that each is there when the client gets to
   * it: the one that it takes, and as many as it takes while another one comes.
   *
   * @param forecastMs how long a slice takes at most to come; undefined: not known
   * @returns slices requested and not taken, 2 to 8; infinite: no bound, as the client is not known
   *   to be far slower than the network
   */
  ahead(forecastMs: Millis | undefined): number {
    const { samples, mean } = this.#taking;
    const isKnown = this.#handed > 0 && samples >= MIN_TAKEN;
    if (!isKnown || forecastMs === undefined) return Number.POSITIVE_INFINITY;
    const leadMs = Math.max(MIN_LEAD_MS, FORECAST_FACTOR * forecastMs);
    const slices = Math.max(MIN_AHEAD, 1 + Math.ceil(leadMs / mean));
    return slices > MAX_AHEAD ? Number.POSITIVE_INFINITY : slices;
  }
}
