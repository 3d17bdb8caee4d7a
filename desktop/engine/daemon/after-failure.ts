/** What follows from a failure: another name, another attempt, or the end. */

import type { ErrorCode, MillraceError } from '@millrace/shared/base/errors';
import type { DownloadRecord } from '../store/record.ts';

/** Failures that a change outside mends, however long it takes. */
const PATIENT: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['disk-full']);
/** The same, once the host has shown that it exists: a network that is down comes back. */
const PATIENT_ONCE_SEEN: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'origin-unreachable',
  'origin-timeout',
]);
const NAME_TAKEN: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['file-exists', 'file-in-use']);

/** @param failures in a row, this one included */
export function afterFailure(
  { options, request, storedBytes }: DownloadRecord,
  { code, row }: MillraceError,
  failures: number,
): 'rename' | 'retry' | 'give-up' {
  if (NAME_TAKEN.has(code) && options.rename && !request.overwrite) return 'rename';
  if (!row.retryable) return 'give-up';
  if (options.maxTries === 0 || failures < options.maxTries || PATIENT.has(code)) return 'retry';
  return storedBytes > 0 && PATIENT_ONCE_SEEN.has(code) ? 'retry' : 'give-up';
}
