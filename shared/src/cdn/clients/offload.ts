/**
 * Chooses the transfers that an overloaded node resets (ANYCAST 3.3): a reset sends a client to
 * another node, where it continues with a range request. Only clients that have said that they do so
 * are reset while there are any: for another client a reset is a failed download. Those with the
 * most bytes left come first, since their resets take away most load.
 */

/** A transfer under way. */
export interface Offloadable {
  /** True if the client has said that it continues after a reset. */
  readonly aware: boolean;
  /** Body bytes still to be sent. */
  readonly remainingBytes: number;
}

/** Share of all transfers reset at a time: the clients arrive at other nodes all at once. */
const MAX_SHARE = 0.1;

/**
 * Chooses the transfers to reset now.
 *
 * @param limit most transfers that the node accepts
 */
export function chooseOffload<T extends Offloadable>(transfers: readonly T[], limit: number): T[] {
  const excess = transfers.length - limit;
  if (excess <= 0) return [];
  const count = Math.min(excess, Math.max(1, Math.floor(transfers.length * MAX_SHARE)));
  const aware = transfers.filter((transfer) => transfer.aware);
  return [...(aware.length > 0 ? aware : transfers)]
    .sort((a, b) => b.remainingBytes - a.remainingBytes)
    .slice(0, count);
}
