/** What went wrong on the way to a server, in terms of the table. */

import { MillraceError } from '../src/base/errors.ts';

const TIMEOUTS = new Set([
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_CONNECT_TIMEOUT',
  'ETIMEDOUT',
]);

/**
 * @param error what undici, the socket or the resolver reported
 * @param afterHead true when the response had begun
 */
export function networkError(error: unknown, afterHead: boolean): MillraceError {
  const inner = innermost(error);
  if (inner instanceof MillraceError) return inner;
  const code = errorCode(inner);
  const message = inner instanceof Error ? inner.message : String(inner);
  if (isMalformed(inner, code, afterHead)) return new MillraceError('malformed-response', message);
  if (TIMEOUTS.has(code)) return new MillraceError('origin-timeout', message, { cause: error });
  if (afterHead || code === 'UND_ERR_SOCKET' || code === 'ECONNRESET' || code === 'EPIPE') {
    return new MillraceError('origin-reset', message, { cause: error });
  }
  const text = code === '' || message.includes(code) ? message : `${code} ${message}`;
  return new MillraceError('origin-unreachable', text, { cause: error });
}

/** What undici's parser refuses. */
function isMalformed(error: unknown, code: string, afterHead: boolean): boolean {
  if (code.startsWith('HPE_') || code === 'UND_ERR_HEADERS_OVERFLOW') return true;
  if (error instanceof Error && error.name === 'HTTPParserError') return true;
  // In the header it contradicts itself; in the body it means that the rest never came.
  return code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH' && !afterHead;
}

/** Several addresses tried in vain come as one AggregateError: its first cause is as good as any. */
function innermost(error: unknown): unknown {
  if (error instanceof MillraceError) return error;
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors[0];
  if (error instanceof Error && error.cause instanceof MillraceError) return error.cause;
  return error;
}

function errorCode(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : '';
}
