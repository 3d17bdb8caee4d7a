/** Answers of the depot: problems, interim answers, and the fields that browsers need. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Millis } from '@millrace/shared/base/clock';
import type { ErrorCode, MillraceError } from '@millrace/shared/base/errors';
import { toProblem } from '@millrace/shared/http/answers/problem';
import {
  type UploadLimits,
  uploadFields,
  uploadLimit,
} from '@millrace/shared/http/fields/upload-fields';
import { streamOf } from '../../clients/connection.ts';
import { hasBody } from '../../clients/request-bodies.ts';
import { problemReply } from '../../listen/problem-reply.ts';

/** State of the upload that a problem is about. */
export interface UploadState {
  readonly offset: number;
  readonly complete: boolean;
  readonly limits: UploadLimits;
  /** Offset that the request has stated. */
  readonly stated?: number | undefined;
}

/** Problem types of the draft on resumable uploads, in IANA's registry. */
const IANA_TYPES: Partial<Record<ErrorCode, string>> = {
  'offset-mismatch': 'mismatching-upload-offset',
  'upload-complete': 'completed-upload',
  'inconsistent-length': 'inconsistent-upload-length',
};
const IANA = 'https://iana.org/assignments/http-problem-types#';

/** Fields that pages of other sites may send and read (Fetch, 3.3). No cookies are involved. */
const CORS: Readonly<Record<string, string>> = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers':
    'accept-ranges, content-range, etag, location, repr-digest, sunset, upload-complete, upload-length, upload-limit, upload-offset',
};
const CORS_REQUEST: Readonly<Record<string, string>> = {
  'access-control-allow-headers':
    'authorization, content-digest, content-disposition, content-type, range, if-range, repr-digest, upload-claim, upload-complete, upload-draft-interop-version, upload-length, upload-offset',
  'access-control-max-age': '86400',
};

/** Fields of all answers of the depot. Nobody is to be told the capability that a page came by. */
export const DEPOT_FIELDS: Readonly<Record<string, string>> = {
  ...CORS,
  'content-security-policy': 'sandbox',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
};

/** Time for which a refused client may go on sending, so that it can read the answer. */
const LINGER_MS: Millis = 1000;

/** Makes the answer for an error. @param allow methods that the target takes */
export function depotProblem(
  error: MillraceError,
  allow: string,
  state: UploadState | undefined,
): { status: number; headers: Record<string, string>; body: string } {
  const { status, headers } = problemReply(error);
  const type = IANA_TYPES[error.code];
  const offsets =
    error.code === 'offset-mismatch' && state !== undefined
      ? { 'expected-offset': state.offset, 'provided-offset': state.stated }
      : {};
  const problem = { ...toProblem(error), ...(type && { type: IANA + type }), ...offsets };
  const body = `${JSON.stringify(problem, null, 2)}\n`;
  headers['content-length'] = String(Buffer.byteLength(body));
  if (status === 405) headers.allow = allow;
  if (status === 401) headers['www-authenticate'] = 'Bearer';
  if (state !== undefined) {
    const { offset, complete, limits } = state;
    Object.assign(headers, uploadFields({ offset, complete }));
    headers['upload-limit'] = uploadLimit(limits);
  }
  return { status, headers, body };
}

/**
 * Answers OPTIONS: what the target takes, and what pages of other sites may send (RFC 5789 3.1).
 *
 * @param accepts media type of PATCH; undefined: the target takes none
 */
export function answerOptions(
  res: ServerResponse,
  allow: string,
  accepts: string | undefined,
  limits: UploadLimits | undefined,
): void {
  res.writeHead(204, {
    ...CORS_REQUEST,
    allow,
    'access-control-allow-methods': allow,
    ...(accepts === undefined ? {} : { 'accept-patch': accepts }),
    ...(limits === undefined ? {} : { 'upload-limit': uploadLimit(limits) }),
  });
  res.end();
}

/**
 * Sends an answer to a request whose body may not have come yet. Over HTTP/1.1 it ends the
 * connection then, but not at once: closing with unread bytes would reset the answer.
 */
export function refuse(
  req: IncomingMessage,
  res: ServerResponse,
  { status, headers, body }: ReturnType<typeof depotProblem>,
): void {
  const text = req.method === 'HEAD' ? '' : body;
  if (streamOf(res) !== undefined || req.complete || !hasBody(req)) {
    res.writeHead(status, headers).end(text);
    return;
  }
  res.shouldKeepAlive = false;
  res.writeHead(status, headers).write(text);
  const end = () => {
    clearTimeout(timer);
    res.end();
  };
  const timer = setTimeout(end, req.headers.expect === undefined ? LINGER_MS : 0);
  req.once('end', end).once('close', end).resume();
}
