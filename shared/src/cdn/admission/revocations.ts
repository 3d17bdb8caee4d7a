/**
 * Sessions that were revoked before they expired. A session is a signed text that no process
 * stores, so only the few revoked ones are remembered, and only until they would have expired.
 */

import type { Millis } from '../../base/clock.ts';

/** Most revoked sessions remembered one by one. */
export const MAX_REVOKED = 10_000;

/** The state that one process tells another or keeps on disk. */
export interface RevocationsSnapshot {
  /** Every session that expires at this time or earlier is revoked; Unix milliseconds. */
  readonly until: Millis;
  /** Other revoked sessions: their ids, and when they would have expired. */
  readonly sessions: readonly (readonly [id: string, until: Millis])[];
}

export class Revocations {
  /** Times at which revoked sessions would have expired, by id. */
  readonly #sessions = new Map<string, Millis>();
  #until: Millis = 0;

  /** A new session has to expire after this time, or it is revoked from the start. */
  get until(): Millis {
    return this.#until;
  }

  /**
   * Revokes the sessions of a snapshot, in addition to earlier ones. Beyond 10,000, all sessions
   * that expire first are revoked: some users may have to log in again, but no revoked session
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

  /** @param until when the session expires, Unix milliseconds */
  isRevoked(id: string, until: Millis): boolean {
    return until <= this.#until || this.#sessions.has(id);
  }

  get snapshot(): RevocationsSnapshot {
    return { until: this.#until, sessions: [...this.#sessions] };
  }
}
