/** Reads small answers of other nodes, and what they say has gone wrong. */

import { MillraceError } from '@millrace/shared/base/errors';
import { PROBLEM_TYPE, readProblem } from '@millrace/shared/http/answers/problem';
import { listField, singleField } from '@millrace/shared/http/fields/headers';
import { parseRetryAfter } from '@millrace/shared/http/fields/retry-after';
import type { RangeResponse } from '@millrace/shared/node/range-client';

const MAX_BODY_BYTES = 64 * 1024;
/** Longest text that answers a question: an origin's answer of 64 KiB in base64, with its fields. */
export const MAX_TEXT_BYTES = 256 * 1024;

/** Makes the error for an answer that cannot be read. */
export function malformed(error: unknown): MillraceError {
  return new MillraceError('malformed-response', `of a peer: ${(error as Error).message}`);
}

/** Reads a small body; undefined if it is not small, or of unknown length. */
export async function readBody(
  response: RangeResponse,
  maxBytes = MAX_BODY_BYTES,
): Promise<Buffer | undefined> {
  const bytes = Number(singleField(response.headers, 'content-length') ?? Number.NaN);
  if (!response.plain || !(bytes <= maxBytes)) {
    response.discard();
    return undefined;
  }
  const body = Buffer.alloc(bytes);
  await response.readInto(body, () => {});
  return body;
}

/** Reads the problem that an answer describes, if it does. */
export async function problemOf(response: RangeResponse): Promise<MillraceError | undefined> {
  if (!listField(response.headers, 'content-type')?.startsWith(PROBLEM_TYPE)) {
    response.discard();
    return undefined;
  }
  const retryAfterMs = parseRetryAfter(listField(response.headers, 'retry-after'), 0);
  const body = await readBody(response).catch(() => undefined);
  return readProblem(body?.toString() ?? '', retryAfterMs);
}
