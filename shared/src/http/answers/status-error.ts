/** Maps statuses without a file to errors of the table, for edge, engine and extension. */

import type { Millis } from '../../base/clock.ts';
import { MillraceError } from '../../base/errors.ts';

/**
 * Returns the error that a status stands for (RFC 9110 15).
 *
 * @param status of an answer without the file, or without the requested bytes
 * @param retryAfterMs the wait that the server asks for, if it does
 */
export function statusError(status: number, retryAfterMs?: Millis): MillraceError {
  const detail = { code: 'answered', values: { status } } as const;
  if (status === 404) return new MillraceError('origin-not-found', detail);
  if (status === 410) return new MillraceError('origin-gone', detail);
  // The file may exist: some servers answer 416 to requests for the first bytes of files that they
  // generate while sending.
  if (status === 416) return new MillraceError('range-ignored', detail);
  if (isBusy(status)) return new MillraceError('origin-busy', detail, { retryAfterMs });
  // The server asks for the same request again (RFC 9110 15.5.9, RFC 8470 5.2).
  if (status === 408 || status === 425) return new MillraceError('origin-error', detail);
  if (status >= 500) return new MillraceError('origin-error', detail);
  if (status >= 400) return new MillraceError('origin-denied', detail);
  // The server has not made the file yet, or its script failed without an error: it may do better
  // when it is asked again (RFC 9110 15.3.3, 15.3.5).
  if (status === 202 || status === 204 || status === 205) {
    return new MillraceError('origin-error', detail);
  }
  // A success without the bytes, or a redirect that cannot be followed, is malformed.
  return new MillraceError('malformed-response', detail);
}

/** Returns true for statuses of a server that is too busy (RFC 6585 4; RFC 9110 15.6.4). */
export function isBusy(status: number): boolean {
  return status === 429 || status === 503;
}
