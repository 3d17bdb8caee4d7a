/**
 * Remembers until when an origin asked to get no requests for a file (RFC 9110 10.2.3). Kept per
 * URL: one file that is out of service must not block the others of its host.
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
   * Records that the origin answered 429 or 503.
   *
   * @param retryAfterMs its Retry-After, if it had one
   * @returns the error to report
   */
  onBusy(status: number, retryAfterMs: Millis | undefined, now: Millis): MillraceError {
    const pause = Math.min(MAX_PAUSE_MS, retryAfterMs ?? DEFAULT_PAUSE_MS);
    this.#until = Math.max(this.#until, now + pause);
    return new MillraceError(
      'origin-busy',
      { code: 'answered', values: { status } },
      { retryAfterMs: pause },
    );
  }

  /**
   * Throws during the pause, so that nothing is sent to the origin.
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
