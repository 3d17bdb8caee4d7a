/**
 * Sessions that were ended before their time. A session is a signed text that the server does not
 * store, so only the few revoked ones are remembered, each until it would have expired anyway.
 */

import type { Millis } from './clock.ts';

/** Sessions remembered one by one. */
export const MAX_REVOKED = 10_000;

/** The state that one process tells another or keeps on disk. */
export interface RevocationsSnapshot {
  /** Every session that expires at this time or before has ended; Unix milliseconds. */
  readonly until: Millis;
  /** Other revoked sessions: their names, and when they would have expired. */
  readonly sessions: readonly (readonly [id: string, until: Millis])[];
}

export class Revocations {
  /** Revoked sessions by name, with the time when they would have expired. */
  readonly #sessions = new Map<string, Millis>();
  #until: Millis = 0;

  /** Sessions that are to begin now have to end after that, or they have ended already. */
  get until(): Millis {
    return this.#until;
  }

  /**
   * Ends the sessions of the snapshot, in addition to those that have ended before. Beyond 10,000,
   * those that expire first all end now: a user may have to log in again, but no revoked session
   * becomes valid.
   *
   * @param now Unix milliseconds
   */
  revoke({ until, sessions }: RevocationsSnapshot, now: Millis): void {
    this.#until = Math.max(this.#until, until);
    for (const [id, ends] of sessions) this.#sessions.set(id, ends);
    for (const [id, ends] of this.#sessions) {
      if (ends <= now || ends <= this.#until) this.#sessions.delete(id);
    }
    if (this.#sessions.size <= MAX_REVOKED) return;
    const ends = [...this.#sessions.values()].sort((a, b) => a - b);
    this.#until = ends[ends.length - MAX_REVOKED - 1] as Millis;
    for (const [id, at] of this.#sessions) if (at <= this.#until) this.#sessions.delete(id);
  }

  /** @param until when the session would expire by itself, Unix milliseconds */
  isRevoked(id: string, until: Millis): boolean {
    return until <= this.#until || this.#sessions.has(id);
  }

  get snapshot(): RevocationsSnapshot {
    return { until: this.#until, sessions: [...this.#sessions] };
  }
}
