/** Turns an origin's answer without a body into the error for the client. */

import type { Millis } from '@millrace/shared/base/clock';
import type { MillraceError } from '@millrace/shared/base/errors';
import type { OriginPause } from '@millrace/shared/cdn/chunks/origin-pause';
import { isBusy, statusError } from '@millrace/shared/http/answers/status-error';
import { listField } from '@millrace/shared/http/fields/headers';
import { parseRetryAfter } from '@millrace/shared/http/fields/retry-after';
import type { HttpAnswer } from '@millrace/shared/node/http-response';

/**
 * Makes the error for the client, and begins the pause that a busy origin asks for.
 *
 * @param pause is told when the origin is busy
 * @param now monotonic milliseconds
 */
export function answerError(response: HttpAnswer, pause: OriginPause, now: Millis): MillraceError {
  const { status, headers, arrivedAt } = response;
  if (!isBusy(status)) return statusError(status);
  return pause.onBusy(status, parseRetryAfter(listField(headers, 'retry-after'), arrivedAt), now);
}
