/** Decides the consequence of a failure: another name, another attempt, or the end. */

import type { ErrorCode, MillraceError } from '@millrace/shared/base/errors';
import type { DownloadRecord } from '../store/record.ts';

/** Failures that a change outside mends, however long it takes. */
const PATIENT: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['disk-full', 'network-away']);
/** The same, once the host has shown that it exists: a network that is down comes back. */
const PATIENT_ONCE_SEEN: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'origin-unreachable',
  'origin-refused',
  'origin-unknown',
  'origin-timeout',
]);

/** @param failures in a row, this one included */
export function afterFailure(
  { options, request, path, storedBytes }: DownloadRecord,
  { code, row }: MillraceError,
  failures: number,
): 'rename' | 'retry' | 'give-up' {
  // The holder of a partial file that has been begun will let go of it.
  const taken = code === 'file-exists' || (code === 'file-in-use' && path === undefined);
  if (taken && options.rename && !request.overwrite) return 'rename';
  if (!row.retryable) return 'give-up';
  if (options.maxTries === 0 || failures < options.maxTries || PATIENT.has(code)) return 'retry';
  return storedBytes > 0 && PATIENT_ONCE_SEEN.has(code) ? 'retry' : 'give-up';
}
