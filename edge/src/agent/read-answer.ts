/** Reads an origin's own answer where it has no file: what clients get of it, and what is kept. */

import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { MAX_ANSWER_BYTES } from '@millrace/shared/base/limits';
import { afterFailure } from '@millrace/shared/cdn/chunks/pointer-life';
import type { Freshness, FreshTimes } from '@millrace/shared/http/answers/freshness';
import { answerFreshness, isPassable } from '@millrace/shared/http/answers/passed-answer';
import { passedFields } from '@millrace/shared/http/answers/passed-fields';
import { contentCoding } from '@millrace/shared/http/answers/range-contract';
import { LABEL_FIELDS } from '@millrace/shared/http/fields/labels';
import { Deadline } from '@millrace/shared/node/deadline';
import type { HttpResponse } from '@millrace/shared/node/http-response';
import { answerError } from '../egress/answer-error.ts';
import type { OriginRecords } from '../egress/origin-records.ts';
import { ownFields, type Pointer } from '../files/file-version.ts';
import { AbsentError, AnsweredError, type OriginAnswer } from '../files/origin-answer.ts';

export interface AnswerOptions {
  readonly records: OriginRecords;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
  readonly onOriginBytes: (count: number) => void;
  /** Returns true if clients get the origin's own answers where it has no file. */
  readonly passesAnswers: (url: URL) => boolean;
  /** Returns the times of the rule for an origin. */
  readonly times: (url: URL) => FreshTimes;
}

/** A question about a file that its origin does not give. */
interface Question {
  readonly url: URL;
  /** Pointer known so far. */
  readonly known: Pointer | undefined;
  /** SHA-256 that the content must have, hexadecimal, if the client has asked for one. */
  readonly digest: string | undefined;
}

/** Longest time for the whole body, milliseconds. */
const BODY_MS = 10_000;
const TOO_LONG = Symbol('too long');

/** Returns the error of an answer without a file; with the answer, if clients may get it. */
export async function noFileError(
  o: AnswerOptions,
  response: HttpResponse,
  { url, known, digest }: Question,
  signal: AbortSignal,
): Promise<MillraceError> {
  const error = answerError(response, o.records.pause(response.url), o.now());
  if (digest !== undefined) return error;
  const { status, headers, requestedAt, arrivedAt } = response;
  const freshness = answerFreshness(status, headers, requestedAt, arrivedAt, o.times(url));
  if (!o.passesAnswers(url)) return absence(response, error, freshness);
  // A file that may be used while its origin fails is better than the origin's apology.
  if (afterFailure(error.code, known?.freshness, arrivedAt) === 'stale') return error;
  const answer = await readAnswer(response, error, signal);
  if (answer === undefined) return absence(response, error, freshness);
  o.onOriginBytes(answer.body.length);
  return new AnsweredError(
    { ...answer, freshness },
    { hit: false, fwd: missOf(known), fwdStatus: status, detail: error.code },
  );
}

/** Returns the error of an origin without such a file as one that is kept; others as they are. */
function absence(
  { headers, url }: HttpResponse,
  error: MillraceError,
  freshness: Freshness,
): MillraceError {
  const { code, detail, retryAfterMs } = error;
  if (code !== 'origin-not-found' && code !== 'origin-gone') return error;
  // Of its fields only those by which it is purged are of use.
  const passed = passedFields(headers, url.href, true);
  const labels = LABEL_FIELDS.filter((name) => name in passed);
  const fields = ownFields(Object.fromEntries(labels.map((name) => [name, passed[name] ?? ''])));
  return new AbsentError({ code, detail, retryAfterMs, fields, freshness });
}

/** Tells why the origin was asked, in the word of Cache-Status. */
export function missOf(known: Pointer | undefined): 'uri-miss' | 'stale' {
  return known === undefined ? 'uri-miss' : 'stale';
}

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
  const deadline = new Deadline(slow);
  deadline.set(BODY_MS);
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
    deadline.clear();
    signal.removeEventListener('abort', abort);
  }
}
