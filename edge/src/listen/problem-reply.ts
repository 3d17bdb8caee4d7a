/** Turns errors into responses to clients. */

import type { MillraceError } from '@millrace/shared/base/errors';
import { PROBLEM_TYPE, toProblem } from '@millrace/shared/http/answers/problem';

/** Makes status, header and body for an error, as far as they do not depend on the request. */
export function problemReply(error: MillraceError): {
  status: number;
  headers: Record<string, string>;
  body: string;
} {
  const body = `${JSON.stringify(toProblem(error), null, 2)}\n`;
  const headers: Record<string, string> = {
    'content-type': PROBLEM_TYPE,
    'content-length': String(Buffer.byteLength(body)),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  };
  if (error.retryAfterMs !== undefined) {
    headers['retry-after'] = String(Math.max(1, Math.ceil(error.retryAfterMs / 1000)));
  }
  if (error.code === 'method-not-allowed') headers.allow = 'GET, HEAD';
  return { status: error.row.status, headers, body };
}
