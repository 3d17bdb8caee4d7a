/**
 * Until when an origin asked to be left alone about a file (RFC 9110 10.2.3). Kept per URL: one
 * file that is out of service must not put the others of its host out of reach.
 */

import type { Millis } from '../../base/clock.ts';
import { MillraceError } from '../../base/errors.ts';

/** Pause after a 429 or 503 that does not say how long. */
export const DEFAULT_PAUSE_MS = 1000;
/** Longest pause that an origin can impose. */
const MAX_PAUSE_MS = 10 * 60_000;

export class OriginPause {
  #until: Millis = 0;

  /**
   * The origin answered 429 or 503.
   *
   * @param retryAfterMs value of its Retry-After, where it had one
   * @returns the error to report
   */
  onBusy(status: number, retryAfterMs: Millis | undefined, now: Millis): MillraceError {
    const pause = Math.min(MAX_PAUSE_MS, retryAfterMs ?? DEFAULT_PAUSE_MS);
    this.#until = Math.max(this.#until, now + pause);
    return new MillraceError('origin-busy', `it answered ${status}`, { retryAfterMs: pause });
  }

  /**
   * Throws while the origin wants to be left alone, so that nothing is sent to it.
   *
   * @throws MillraceError `origin-busy`
   */
  check(now: Millis): void {
    if (now >= this.#until) return;
    throw new MillraceError('origin-busy', 'it asked for a pause', {
      retryAfterMs: this.#until - now,
    });
  }
}
