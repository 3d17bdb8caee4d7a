/**
 * Sessions that have been ended before their time, where a session is a signed text that nobody
 * keeps: what has to be remembered are the few that are good no more, and no longer than they would
 * have been good.
 */

import type { Millis } from './clock.ts';

/** Sessions remembered one by one. */
export const MAX_REVOKED = 10_000;

/** The state that one process tells another or keeps on disk. */
export interface RevocationsSnapshot {
  /** Every session that would end at this time or before it has ended; Unix milliseconds. */
  readonly until: Millis;
  /** Others: their names, and when they would have ended. */
  readonly sessions: readonly (readonly [id: string, until: Millis])[];
}

export class Revocations {
  /** By name, with the time when they would have ended. */
  readonly #sessions = new Map<string, Millis>();
  #until: Millis = 0;

  /** Sessions that are to begin now have to end after that, or they have ended already. */
  get until(): Millis {
    return this.#until;
  }

  /**
   * Ends sessions: those of the snapshot, in addition to what has ended before. Beyond 10,000, all that
   * would end first do so now: somebody may have to log in again, and nobody stays in.
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

  /** @param until when the session would end by itself, Unix milliseconds */
  isRevoked(id: string, until: Millis): boolean {
    return until <= this.#until || this.#sessions.has(id);
  }

  get snapshot(): RevocationsSnapshot {
    return { until: this.#until, sessions: [...this.#sessions] };
  }
}
