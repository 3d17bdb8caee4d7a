/**
 * Chooses the waiting transfers that are refused when memory is short. A client may have begun many
 * while there was memory. Once there is not, they would take all that is freed, one after the other,
 * and keep out clients that have none.
 */

/** A transfer of a client. */
export interface WaitingTransfer {
  readonly client: string;
  /** True until its response has begun. */
  readonly isWaiting: boolean;
  /** Bytes that ending it would free, as far as known. */
  readonly heldBytes: number;
}

/**
 * Chooses transfers to refuse now: those of clients with most transfers first, the newest of a
 * client first. Every client keeps one.
 *
 * @param transfers all of them, the oldest first
 * @param excessBytes bytes to free; no more transfers are chosen than are needed for that
 */
export function chooseWaiting<T extends WaitingTransfer>(
  transfers: readonly T[],
  excessBytes: number,
): T[] {
  if (excessBytes <= 0) return [];
  const counts = new Map<string, number>();
  for (const { client } of transfers) counts.set(client, (counts.get(client) ?? 0) + 1);
  /** Each with the number of transfers that its client would otherwise have. */
  const candidates: { readonly transfer: T; readonly count: number }[] = [];
  for (const transfer of transfers.toReversed()) {
    const count = counts.get(transfer.client) as number;
    if (!transfer.isWaiting || count <= 1) continue;
    counts.set(transfer.client, count - 1);
    candidates.push({ transfer, count });
  }
  candidates.sort((a, b) => b.count - a.count);
  const chosen: T[] = [];
  let freed = 0;
  for (const { transfer } of candidates) {
    if (freed >= excessBytes) break;
    freed += transfer.heldBytes;
    chosen.push(transfer);
  }
  return chosen;
}
