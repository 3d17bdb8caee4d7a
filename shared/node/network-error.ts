/** Translates failures on the way to a server to errors of the table. */

import { MillraceError } from '../src/base/errors.ts';
import { isNotTls, networkDetail } from './network-words.ts';

const TIMEOUTS = new Set([
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_CONNECT_TIMEOUT',
  'ETIMEDOUT',
]);

/** Names of certificate faults: OpenSSL's (X509_V_ERR_...), and Node's additional ones. */
const CERTIFICATE_ERROR =
  /^(CERT_|ERR_TLS_CERT_|UNABLE_TO_(GET|DECRYPT|DECODE|VERIFY)_|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_|ERROR_IN_CERT_|INVALID_(CA|PURPOSE)$|PATH_LENGTH_EXCEEDED$|HOSTNAME_MISMATCH$)/;

/**
 * Translates a failure to an error of the table.
 *
 * @param error as undici, the socket or the resolver reported it
 * @param afterHead true if the response had begun
 */
export function networkError(error: unknown, afterHead: boolean): MillraceError {
  const inner = innermost(error);
  if (inner instanceof MillraceError) return inner;
  const code = errorCode(inner);
  const detail = networkDetail(inner);
  if (isMalformed(inner, code, afterHead)) {
    return new MillraceError('malformed-response', detail, { cause: error });
  }
  if (CERTIFICATE_ERROR.test(code)) {
    return new MillraceError('certificate-invalid', detail, { cause: error });
  }
  if (TIMEOUTS.has(code)) return new MillraceError('origin-timeout', detail, { cause: error });
  if (afterHead || code === 'UND_ERR_SOCKET' || code === 'ECONNRESET' || code === 'EPIPE') {
    return new MillraceError('origin-reset', detail, { cause: error });
  }
  // Without details: the title says it all.
  if (isNotTls(inner)) return new MillraceError('no-tls', '', { cause: error });
  return new MillraceError('origin-unreachable', detail, { cause: error });
}

/** Returns true for answers that undici's parser refuses. */
function isMalformed(error: unknown, code: string, afterHead: boolean): boolean {
  if (code.startsWith('HPE_') || code === 'UND_ERR_HEADERS_OVERFLOW') return true;
  if (error instanceof Error && error.name === 'HTTPParserError') return true;
  // Before the body, the header contradicts itself; in the body, the rest never came.
  return code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH' && !afterHead;
}

/** Unwraps an error. If several addresses failed (AggregateError), the first error counts. */
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
