/**
 * Reads all that is kept once, a few rows at a time beside other work: from then on what cannot be read
 * is in no total, and the log says so, also where nobody has looked at it.
 */

import { setImmediate as turn } from 'node:timers/promises';

/** A table whose rows can be looked at in steps. */
export interface CheckedTable {
  /** As `DownloadStore.checkSome`. */
  checkSome(after: number, limit: number): number | undefined;
  /** Gids of rows that are known to be damaged. */
  readonly damaged: readonly string[];
}

/** Rows that are checked at a time: a millisecond or two, in which nothing else runs. */
const ROWS_AT_ONCE = 100;

/**
 * @param onDamage called with the gids of a table, once it is through, if some cannot be read
 * @returns when it is through, or the signal has ended it
 */
export async function checkKept<T extends CheckedTable>(
  tables: readonly T[],
  onDamage: (table: T, gids: readonly string[]) => void,
  signal: AbortSignal,
): Promise<void> {
  for (const table of tables) {
    for (let after: number | undefined = 0; after !== undefined; ) {
      await turn();
      if (signal.aborted) return;
      after = table.checkSome(after, ROWS_AT_ONCE);
    }
    if (table.damaged.length > 0) onDamage(table, table.damaged);
  }
}
