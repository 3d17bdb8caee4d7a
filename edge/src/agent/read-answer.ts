/** Reads an origin's own answer where it has no file, if it may go to clients. */

import { MillraceError } from '@millrace/shared/base/errors';
import { MAX_ANSWER_BYTES } from '@millrace/shared/base/limits';
import { answerFreshness, isPassable } from '@millrace/shared/http/answers/passed-answer';
import { passedFields } from '@millrace/shared/http/answers/passed-fields';
import { contentCoding } from '@millrace/shared/http/answers/range-contract';
import type { HttpResponse } from '@millrace/shared/node/http-response';
import { ownFields } from '../files/file-version.ts';
import type { OriginAnswer } from '../files/origin-answer.ts';

/** Longest time for the whole body, milliseconds. */
const BODY_MS = 10_000;
const TOO_LONG = Symbol('too long');

/**
 * Reads an answer with its body.
 *
 * @param error that the status stands for
 * @param signal gives the body up
 * @returns undefined for answers that clients do not get, and for longer ones: the body is left unread
 * @throws MillraceError if the body breaks off; the signal's reason
 */
export async function readAnswer(
  response: HttpResponse,
  error: MillraceError,
  signal: AbortSignal,
): Promise<OriginAnswer | undefined> {
  const { status, headers, requestedAt, arrivedAt, url } = response;
  if (!isPassable(status, headers) || contentCoding(headers) !== undefined) return undefined;
  const body = await readBody(response, signal);
  if (body === undefined) return undefined;
  const { code, detail, retryAfterMs } = error;
  return {
    ...{ code, detail, retryAfterMs, status, body },
    fields: ownFields(passedFields(headers, url.href, true)),
    freshness: answerFreshness(status, headers, requestedAt, arrivedAt),
    finalUrl: url.href,
  };
}

/** @returns undefined if it is longer than `MAX_ANSWER_BYTES` */
async function readBody(response: HttpResponse, signal: AbortSignal): Promise<Buffer | undefined> {
  if (response.method === 'HEAD' || response.status === 204) {
    response.discard();
    return Buffer.alloc(0);
  }
  const pieces: Buffer[] = [];
  let bytes = 0;
  let reason: unknown;
  const giveUp = (why: unknown) => {
    reason ??= why;
    response.discard();
  };
  const abort = () => giveUp(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  const slow = () => giveUp(new MillraceError('origin-timeout', 'its answer takes too long'));
  const timer = setTimeout(slow, BODY_MS);
  try {
    await response.pipe((piece) => {
      bytes += piece.length;
      if (bytes > MAX_ANSWER_BYTES) giveUp(TOO_LONG);
      else pieces.push(piece);
      return bytes <= MAX_ANSWER_BYTES;
    });
    return Buffer.concat(pieces);
  } catch (error) {
    if (reason === TOO_LONG) return undefined;
    throw reason ?? error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  }
}
