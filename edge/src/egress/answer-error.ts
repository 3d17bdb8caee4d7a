/** Handles an origin's answers whose bodies are given up. */

import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import type { OriginPause } from '@millrace/shared/cdn/chunks/origin-pause';
import { isBusy, statusError } from '@millrace/shared/http/answers/status-error';
import { type Headers, listField } from '@millrace/shared/http/fields/headers';
import { parseRetryAfter } from '@millrace/shared/http/fields/retry-after';
import type { HttpAnswer, HttpResponse } from '@millrace/shared/node/http-response';

/**
 * Makes the error for the client, and begins the pause that a busy origin asks for.
 *
 * A 401 is told as an error of its own, and not with status 401: a challenge would have browsers and
 * programs such as pip ask their users for a password, and send it to the edge, which does not pass
 * it on. For the same reason the challenge is left out, but for the name of its scheme.
 *
 * @param pause is told when the origin is busy
 * @param now monotonic milliseconds
 */
export function answerError(response: HttpAnswer, pause: OriginPause, now: Millis): MillraceError {
  const { status, headers, arrivedAt } = response;
  if (status === 401) return new MillraceError('origin-login', challengeScheme(headers));
  if (!isBusy(status)) return statusError(status);
  return pause.onBusy(status, parseRetryAfter(listField(headers, 'retry-after'), arrivedAt), now);
}

/** Tells the scheme of the first challenge (RFC 9110 11.6.1), which is one token. */
function challengeScheme(headers: Headers): string {
  const scheme = /^\s*([A-Za-z0-9-]{1,32})(?=$|[ ,])/.exec(
    listField(headers, 'www-authenticate') ?? '',
  );
  return scheme === null ? 'it answered 401' : `it answered 401 and asks for ${scheme[1]}`;
}

/**
 * Estimates the body bytes that an origin has begun to send of an answer that is given up: how many
 * lie in the buffers on the way cannot be known.
 *
 * @param atMost bytes that are assumed of a longer body, or of one of unknown length
 */
export function begunBytes({ method, status, headers }: HttpResponse, atMost: number): number {
  if (method === 'HEAD' || status === 204 || status === 304) return 0;
  const length = Number(listField(headers, 'content-length') ?? Number.NaN);
  return length >= 0 ? Math.min(length, atMost) : atMost;
}
