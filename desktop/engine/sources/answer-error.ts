/** Makes the error for an answer that does not bring the file. */

import { MillraceError } from '@millrace/shared/base/errors';
import { statusError } from '@millrace/shared/http/answers/status-error';
import { listField } from '@millrace/shared/http/fields/headers';
import { parseRetryAfter } from '@millrace/shared/http/fields/retry-after';
import type { HttpStream } from '@millrace/shared/node/http-client';
import { pump } from './pump.ts';

/**
 * Makes the error from the answer's own message if it has one, otherwise from its status; discards
 * the answer.
 *
 * @param isEdge true for an edge, whose answer may state the error itself
 */
export async function answerError(response: HttpStream, isEdge: boolean): Promise<MillraceError> {
  const { status, headers, arrivedAt } = response;
  const retryAfterMs = parseRetryAfter(listField(headers, 'retry-after'), arrivedAt);
  const error = isEdge ? await statedError(response, retryAfterMs) : undefined;
  response.discard();
  return error ?? statusError(status, retryAfterMs);
}

async function statedError(
  response: HttpStream,
  retryAfterMs: number | undefined,
): Promise<MillraceError | undefined> {
  const { MAX_PROBLEM_BYTES, PROBLEM_TYPE, readSourceProblem } = await import(
    '@millrace/shared/http/answers/problem'
  );
  if (!listField(response.headers, 'content-type')?.startsWith(PROBLEM_TYPE)) return undefined;
  const pieces: Buffer[] = [];
  let bytes = 0;
  try {
    await pump(response, (piece) => {
      bytes += piece.length;
      if (bytes > MAX_PROBLEM_BYTES) throw new MillraceError('malformed-response');
      pieces.push(Buffer.from(piece));
      return undefined;
    });
  } catch {
    return undefined;
  }
  return readSourceProblem(Buffer.concat(pieces).toString(), retryAfterMs);
}
