/** Decides which removals are asked about, and words the question. */

import type { RemovalSummary } from '@millrace/shared/bridge/rpc/trash-api';

/** More downloads than this at once are asked about. */
const MANY = 20;
/** More bytes on disk than this are asked about. */
const MUCH_BYTES = 1024 ** 3;

/** True for removals that a slip of the hand should not make: of many downloads, or of much data. */
export function mustAsk({ count, partialBytes }: RemovalSummary): boolean {
  return count > MANY || partialBytes > MUCH_BYTES;
}

/** True if only entries go: every file stays where it is. */
export function onlyEntries({ count, complete }: RemovalSummary): boolean {
  return count === complete;
}
