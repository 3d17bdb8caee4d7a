/** Decides which removals the user is asked about. */

import type { RemovalSummary } from '@millrace/shared/bridge/rpc/trash-api';

/** Removals of more downloads than this are asked about. */
const MANY = 20;
/** Removals of more bytes on disk than this are asked about. */
const MUCH_BYTES = 1024 ** 3;

/** Returns true for removals that must not happen by a slip: of many downloads, or of much data. */
export function mustAsk({ count, partialBytes }: RemovalSummary): boolean {
  return count > MANY || partialBytes > MUCH_BYTES;
}

/** Returns true if only entries go: every file stays where it is. */
export function onlyEntries({ count, complete }: RemovalSummary): boolean {
  return count === complete;
}
