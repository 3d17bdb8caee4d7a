/**
 * Reads all stored rows once, a few at a time beside other work: from then on unreadable rows are
 * in no total, and the log names them even if they are never requested.
 */

import { setImmediate as turn } from 'node:timers/promises';

/** A table whose rows can be read in steps. */
export interface CheckedTable {
  /** Same as `DownloadStore.checkSome`. */
  checkSome(after: number, limit: number): number | undefined;
  /** Gids of rows known to be damaged. */
  readonly damaged: readonly string[];
}

/** Rows to read per step: one step blocks other work for a millisecond or two. */
const ROWS_AT_ONCE = 100;

/**
 * Reads all rows of the tables.
 *
 * @param onDamage called after each table that has unreadable rows, with their gids
 * @returns when all tables are read, or the signal aborts
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
