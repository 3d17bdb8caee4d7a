/** What an origin's status means to the client, where it is none that brings a body. */

import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import type { OriginPause } from '@millrace/shared/cdn/chunks/origin-pause';
import { listField } from '@millrace/shared/http/fields/headers';
import { parseRetryAfter } from '@millrace/shared/http/fields/retry-after';
import type { HttpAnswer } from '@millrace/shared/node/http-response';

/**
 * @param pause is told when the origin is busy
 * @param now monotonic milliseconds
 */
export function statusError(response: HttpAnswer, pause: OriginPause, now: Millis): MillraceError {
  const { status } = response;
  if (status === 429 || status === 503) {
    const field = listField(response.headers, 'retry-after');
    return pause.onBusy(status, parseRetryAfter(field, response.arrivedAt), now);
  }
  const detail = `it answered ${status}`;
  if (status === 404) return new MillraceError('origin-not-found', detail);
  if (status === 410) return new MillraceError('origin-gone', detail);
  if (status >= 400 && status < 500) return new MillraceError('origin-denied', detail);
  return new MillraceError('origin-error', detail);
}
