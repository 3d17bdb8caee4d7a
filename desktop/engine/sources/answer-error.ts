/** Makes the error for an answer that does not bring the file. */

import { MillraceError } from '@millrace/shared/base/errors';
import { statusError } from '@millrace/shared/http/answers/status-error';
import { listField } from '@millrace/shared/http/fields/headers';
import { parseRetryAfter } from '@millrace/shared/http/fields/retry-after';
import { Deadline } from '@millrace/shared/node/deadline';
import type { HttpStream } from '@millrace/shared/node/http-client';
import { pump } from './pump.ts';

/** Longest wait for a problem document, which is small, in milliseconds. */
const PROBLEM_MS = 2000;

/**
 * Makes the error from the answer's own message if it has one, otherwise from its status; discards
 * the answer. What a server that was not asked as an edge states changes the words only: a link may
 * lead to an edge, whose user should learn that the link has expired.
 *
 * @param isEdge true for an edge, whose answer may state the error itself
 */
export async function answerError(response: HttpStream, isEdge: boolean): Promise<MillraceError> {
  const { status, headers, arrivedAt } = response;
  const retryAfterMs = parseRetryAfter(listField(headers, 'retry-after'), arrivedAt);
  const text = await statedText(response);
  response.discard();
  const error = statusError(status, retryAfterMs);
  if (text === undefined) return error;
  const { readProblem, readSourceProblem } = await import('@millrace/shared/http/answers/problem');
  if (isEdge) return readSourceProblem(text, retryAfterMs) ?? error;
  const row = readProblem(text)?.row;
  return row?.status === status ? toldBy(row.title, error, retryAfterMs) : error;
}

/** Gives an error the words of our own table: a stranger's words are not shown. */
function toldBy(title: string, { code }: MillraceError, retryAfterMs: number | undefined) {
  const detail = title.charAt(0).toLowerCase() + title.slice(1);
  return new MillraceError(code, detail, { retryAfterMs });
}

/** Reads a small problem document. @returns undefined if the answer is none */
async function statedText(response: HttpStream): Promise<string | undefined> {
  if (response.headers['content-type'] === undefined) return undefined;
  const { MAX_PROBLEM_BYTES, PROBLEM_TYPE } = await import('@millrace/shared/http/answers/problem');
  if (!listField(response.headers, 'content-type')?.startsWith(PROBLEM_TYPE)) return undefined;
  const pieces: Buffer[] = [];
  let bytes = 0;
  // A server that sends it byte by byte would hold up the download.
  const deadline = new Deadline(() => response.discard());
  deadline.set(PROBLEM_MS);
  try {
    await pump(response, (piece) => {
      bytes += piece.length;
      if (bytes > MAX_PROBLEM_BYTES) throw new MillraceError('malformed-response');
      pieces.push(Buffer.from(piece));
      return undefined;
    });
  } catch {
    return undefined;
  } finally {
    deadline.clear();
  }
  return Buffer.concat(pieces).toString();
}
