/**
 * How far ahead of its client a response fetches: so far that each chunk comes just in time, though
 * it be a slow one (WORLDS 4.1: no more buffer than saturates the client). The window still bounds
 * what the network is asked for at a time; this bounds what waits for a slow client.
 */

import type { Millis } from '../../base/clock.ts';

/** Slices over which the client's rate is measured: their times come in bursts. */
const MEASURED = 8;
/** Fewest slices that say anything of the client's rate. */
const ENOUGH = 4;
/** Share of the slowest time that is remembered from one slice to the next: half after 34. */
const REMEMBERED = 0.98;

export class JustInTime {
  /** Times at which the client had taken a slice, the last ones, without a pause for want of one. */
  #taken: Millis[] = [];
  #slowestMs: Millis = 0;

  /** Notes that a slice came this long after its first request. */
  onCame(elapsed: Millis): void {
    this.#slowestMs = Math.max(elapsed, this.#slowestMs * REMEMBERED);
  }

  /** Notes that the client has taken a slice. */
  onTaken(now: Millis): void {
    this.#taken.push(now);
    if (this.#taken.length > MEASURED) this.#taken.shift();
  }

  /** Notes that the client has taken everything and waits: what comes now tells of the network. */
  onStarved(): void {
    this.#taken = [];
  }

  /**
   * Returns how many slices may be under way or in hand so that none comes late.
   *
   * @param lateMs milliseconds after which a slice counts as late, and is requested again
   * @param sending slices that the client's socket is given at a time, at least 1
   * @returns whole slices, more than `sending`; infinite while the client's rate is unknown, as that
   *   of a client that is faster than the network
   */
  slicesAhead(lateMs: Millis, sending: number): number {
    const sliceMs = this.#sliceMs();
    if (sliceMs === undefined) return Number.POSITIVE_INFINITY;
    const comesMs = Math.max(lateMs, this.#slowestMs);
    return sending + Math.max(1, Math.ceil(comesMs / sliceMs));
  }

  /** Returns the milliseconds in which the client takes a slice; undefined while unknown. */
  #sliceMs(): Millis | undefined {
    const [first = 0] = this.#taken;
    if (this.#taken.length <= ENOUGH) return undefined;
    // Slices taken together with the first one were under way before.
    const slices = this.#taken.filter((at) => at > first).length;
    return slices === 0 ? undefined : ((this.#taken.at(-1) as Millis) - first) / slices;
  }
}
