/**
 * Chooses the transfers that an overloaded node resets (ANYCAST 3.3): a reset sends a client to
 * another node, where it continues with a range request. Clients that have announced this come
 * first, and among those the ones with the most bytes to come: one reset then removes the most
 * load.
 */

/** A transfer under way. */
export interface Offloadable {
  /** The client has announced that it resumes after a reset. */
  readonly aware: boolean;
  /** Body bytes still to be sent. */
  readonly remainingBytes: number;
}

/** Share of all transfers that may be reset at a time: reset clients arrive elsewhere at once. */
const MAX_SHARE = 0.1;

/**
 * The transfers to reset now.
 *
 * @param limit how many the node is willing to have
 */
export function chooseOffload<T extends Offloadable>(transfers: readonly T[], limit: number): T[] {
  const excess = transfers.length - limit;
  if (excess <= 0) return [];
  const count = Math.min(excess, Math.max(1, Math.floor(transfers.length * MAX_SHARE)));
  return [...transfers]
    .sort((a, b) => Number(b.aware) - Number(a.aware) || b.remainingBytes - a.remainingBytes)
    .slice(0, count);
}
