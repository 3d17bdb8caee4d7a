/** Statuses that bring no file, as errors of the table. */

import { ERRORS, type ErrorCode, MillraceError } from '@millrace/shared/base/errors';
import type { Problem } from '@millrace/shared/http/answers/problem';
import { listField } from '@millrace/shared/http/fields/headers';
import { parseRetryAfter } from '@millrace/shared/http/fields/retry-after';
import type { HttpStream } from '@millrace/shared/node/http-client';
import { pump } from './source-answer.ts';

/** Problem documents are small; anything longer is none. */
const MAX_PROBLEM_BYTES = 16 * 1024;

/** The error that a status stands for; an edge says itself what it is. */
export async function statusError(response: HttpStream, isEdge: boolean): Promise<MillraceError> {
  const { status, headers, arrivedAt } = response;
  const retryAfterMs = parseRetryAfter(listField(headers, 'retry-after'), arrivedAt);
  const problem = isEdge ? await readProblem(response) : undefined;
  response.discard();
  if (problem !== undefined) {
    return new MillraceError(problem.code, problem.detail, { retryAfterMs });
  }
  const detail = `it answered ${status}`;
  if (status === 404) return new MillraceError('origin-not-found', detail);
  if (status === 410) return new MillraceError('origin-gone', detail);
  if (status === 429 || status === 503) {
    return new MillraceError('origin-busy', detail, { retryAfterMs });
  }
  if (status >= 400 && status < 500) return new MillraceError('origin-denied', detail);
  return new MillraceError('origin-error', detail);
}

async function readProblem(
  response: HttpStream,
): Promise<{ code: ErrorCode; detail: string } | undefined> {
  const { PROBLEM_TYPE } = await import('@millrace/shared/http/answers/problem');
  const type = listField(response.headers, 'content-type') ?? '';
  if (!type.startsWith(PROBLEM_TYPE)) return undefined;
  const pieces: Buffer[] = [];
  let bytes = 0;
  try {
    await pump(response, (piece) => {
      bytes += piece.length;
      if (bytes > MAX_PROBLEM_BYTES) throw new MillraceError('malformed-response');
      pieces.push(Buffer.from(piece));
      return undefined;
    });
    const problem = JSON.parse(Buffer.concat(pieces).toString()) as Partial<Problem>;
    if (typeof problem.code !== 'string' || !Object.hasOwn(ERRORS, problem.code)) return undefined;
    return { code: problem.code as ErrorCode, detail: String(problem.reason ?? '') };
  } catch {
    return undefined;
  }
}
