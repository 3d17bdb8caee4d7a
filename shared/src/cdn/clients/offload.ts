/**
 * Chooses the transfers that an overloaded node resets (ANYCAST 3.3): a reset sends a client to
 * another node, where it continues with a range request. Clients that have said that they do so
 * come first, those with the most bytes left before others, since their resets take away most load.
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
  return [...transfers]
    .sort((a, b) => Number(b.aware) - Number(a.aware) || b.remainingBytes - a.remainingBytes)
    .slice(0, count);
}
