/**
 * Decides when an edge's anycast routes are announced. A route that comes and goes breaks
 * connections each time, and routers elsewhere suppress it for long (RFC 2439), so an edge that
 * failed comes back late, and one that leaves is withdrawn at once.
 */

import type { Millis } from '../../base/clock.ts';

export interface AnnouncementOptions {
  /** Time for which the edge must be healthy before it is announced. */
  readonly riseMs: Millis;
  /** Shortest time between a withdrawal because of bad health and the next announcement. */
  readonly holdMs: Millis;
}

/** State of an edge. */
export interface EdgeState {
  /** True while it takes clients: it listens, and does not leave. */
  readonly takesClients: boolean;
  /** True if it answered lately. */
  readonly healthy: boolean;
}

/** Reason of a state, for the log and the status. */
export type AnnouncementReason = 'healthy' | 'starting' | 'leaving' | 'unhealthy' | 'held';

export class Announcement {
  readonly #options: AnnouncementOptions;
  #announced = false;
  #reason: AnnouncementReason = 'starting';
  #fineSince: Millis | undefined;
  #wasFine = false;
  /** Time before which a failed edge is not announced again. */
  #heldUntil: Millis = Number.NEGATIVE_INFINITY;

  constructor(options: AnnouncementOptions) {
    this.#options = options;
  }

  /** True while the routes are to be announced. */
  get announced(): boolean {
    return this.#announced;
  }

  get reason(): AnnouncementReason {
    return this.#reason;
  }

  /**
   * Takes the state of the edge, as often as possible and whenever it has changed.
   *
   * @param now monotonic milliseconds
   * @returns true if the routes are to be announced or withdrawn from now on
   */
  observe({ takesClients, healthy }: EdgeState, now: Millis): boolean {
    const before = this.#announced;
    if (!takesClients || !healthy) {
      this.#fineSince = undefined;
      // An edge that leaves because somebody wants it to is as good as before when it comes back.
      if (before && takesClients) this.#heldUntil = now + this.#options.holdMs;
      this.#announced = false;
      if (takesClients) this.#reason = 'unhealthy';
      else if (this.#wasFine) this.#reason = 'leaving';
      return before;
    }
    this.#fineSince ??= now;
    this.#wasFine = true;
    if (before) return false;
    this.#announced = now - this.#fineSince >= this.#options.riseMs && now >= this.#heldUntil;
    if (this.#announced) this.#reason = 'healthy';
    else if (now < this.#heldUntil) this.#reason = 'held';
    else this.#reason = 'starting';
    return this.#announced;
  }
}
