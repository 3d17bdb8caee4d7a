/** Decides the consequence of a failure: another name, another attempt, or the end. */

import type { ErrorCode, MillraceError } from '@millrace/shared/base/errors';
import type { DownloadRecord } from '../store/record.ts';

/** Failures that end once something outside changes, however late: always retried. */
const PATIENT: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['disk-full', 'network-away']);
/** Failures that are always retried once bytes have come: the host exists, its network is down. */
const PATIENT_ONCE_SEEN: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'origin-unreachable',
  'origin-refused',
  'origin-unknown',
  'origin-timeout',
]);

/**
 * Decides how to continue after a failure.
 *
 * @param failures in a row, this one included
 */
export function afterFailure(
  { options, request, path, storedBytes }: DownloadRecord,
  { code, row }: MillraceError,
  failures: number,
): 'rename' | 'retry' | 'give-up' {
  // A `file-in-use` after the download has begun is about its own partial file, which the process
  // that holds it will release.
  const taken = code === 'file-exists' || (code === 'file-in-use' && path === undefined);
  if (taken && options.rename && !request.overwrite) return 'rename';
  if (!row.retryable) return 'give-up';
  if (options.maxTries === 0 || failures < options.maxTries || PATIENT.has(code)) return 'retry';
  return storedBytes > 0 && PATIENT_ONCE_SEEN.has(code) ? 'retry' : 'give-up';
}
