/** The limit of speed of an upload (`--limit`). */

import { formatRate } from '@millrace/shared/base/units';
import { AdjustableLimit } from '../../../engine/download/rate-limit.ts';
import { UsageError } from '../../text/option-values.ts';

/**
 * Lowest limit for each depot, bytes a second. Depots end uploads that bring less than half of it for
 * some time.
 */
const LEAST_RATE = 32 * 1024;

/**
 * Makes the limit that all requests of an upload share.
 *
 * @param rate bytes a second; undefined: no limit
 * @param depots that get bytes at the same time
 * @throws UsageError if depots would take the upload for a stalled one
 */
export function limitOf(rate: number | undefined, depots: number): AdjustableLimit | undefined {
  if (rate === undefined) return undefined;
  const least = LEAST_RATE * depots;
  if (rate < least) {
    const what = depots === 1 ? 'a depot' : `${depots} depots`;
    throw new UsageError(`--limit must be at least ${formatRate(least)} for ${what}`);
  }
  return new AdjustableLimit(rate, () => performance.now());
}
