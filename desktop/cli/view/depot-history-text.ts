/** Shows the history of depots as text. */

import { formatRate } from '@millrace/shared/base/units';
import type { DepotRepute, SeenDepot } from '@millrace/shared/exnode/depot-history';
import { printable } from '../text/printable.ts';

/** Words for the last failure. */
const FAILURES = {
  lost: 'lost or damaged files',
  failed: 'did not answer, or failed',
  refused: 'refused files',
  slow: 'was slow',
} as const;

/** Returns a line for each depot: its address, what it is worth, its rate, and its last failure. */
export function historyLines(
  depots: readonly (SeenDepot & { readonly repute: DepotRepute })[],
): string[] {
  if (depots.length === 0) return ['No depot was used yet.'];
  return depots.map(({ origin, repute, rate, failure, failedAt }) => {
    const speed = rate === undefined ? '' : `  ${formatRate(rate)}`;
    const day = failedAt === undefined ? '' : new Date(failedAt).toISOString().slice(0, 10);
    const last = failure === undefined ? '' : `  ${FAILURES[failure]} (${day})`;
    return printable(`${origin}  ${repute}${speed}${last}`);
  });
}
