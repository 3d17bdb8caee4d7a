/**
 * Unreadable rows. They stay in their tables for a later repair; lists leave them out, and the log
 * names each of them once.
 */

import type { SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite';
import type { Reading, Row } from './kept-record.ts';

/** Names an unreadable row in the log. */
export type TellDamage = (table: string, row: string, why: string) => void;

/** Most unreadable rows that the log names, for a list with damage everywhere. */
const MAX_TOLD = 50;

/** Makes a function that reports each row once, and at most `MAX_TOLD` rows. */
export function damageTeller(onNote: (text: string) => void): TellDamage {
  const told = new Set<string>();
  return (table, row, why) => {
    const which = `${table}, ${row}`;
    if (told.has(which) || told.size > MAX_TOLD) return;
    told.add(which);
    if (told.size > MAX_TOLD)
      return onNote('More kept entries cannot be read; they stay as they are.');
    onNote(`A kept entry cannot be read and is left out (${which}): ${why}. It stays as it is.`);
  };
}

/** The rows of one table that are known to be damaged. The table has the columns `id` and `gid`. */
export class DamagedRows {
  readonly #table: string;
  readonly #tell: TellDamage;
  /** Gids by id. */
  readonly #known = new Map<number | bigint, string>();

  constructor(table: string, tell: TellDamage) {
    this.#table = table;
    this.#tell = tell;
  }

  get gids(): string[] {
    return [...this.#known.values()];
  }

  /**
   * A condition with `:damaged` that excludes the known damaged rows; none while there are none.
   */
  get conditions(): string[] {
    if (this.#known.size === 0) return [];
    return ['id NOT IN (SELECT value FROM json_each(:damaged))'];
  }

  /** Values of `:damaged`. */
  get values(): Record<string, SQLInputValue> {
    return this.#known.size === 0 ? {} : { damaged: `[${[...this.#known.keys()].join()}]` };
  }

  /** Reads a row; notes and reports a damaged one. */
  read<T>(row: Row, reader: (row: Row) => Reading<T>): T | undefined {
    const reading = reader(row);
    if ('value' in reading) return reading.value;
    const gid = String(row.gid);
    this.#known.set(row.id as number | bigint, gid);
    this.#tell(this.#table, `row ${row.id}, ${gid}`, reading.damage);
    return undefined;
  }

  /** Forgets the damage of a row. Call it when the row has been rewritten or deleted. */
  forget(gid: string): void {
    if (this.#known.size === 0) return;
    for (const [id, one] of this.#known) if (one === gid) this.#known.delete(id);
  }

  /** Runs several reads, again if they found damage, so that their results agree. */
  whole<T>(work: () => T): T {
    for (;;) {
      const before = this.#known.size;
      const result = work();
      if (this.#known.size === before) return result;
    }
  }
}

/**
 * Reads all rows of a statement. Numbers outside JavaScript's range, which only damage produces,
 * come as `bigint`, so that they do not keep the other rows from being read.
 */
export function allRows(
  statement: StatementSync,
  values: Record<string, SQLInputValue> = {},
): Row[] {
  return withLargeNumbers(statement, () => statement.all(values));
}

/** Reads one row, like `allRows`. */
export function oneRow(
  statement: StatementSync,
  values: Record<string, SQLInputValue>,
): Row | undefined {
  return withLargeNumbers(statement, () => statement.get(values));
}

function withLargeNumbers<T>(statement: StatementSync, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_OUT_OF_RANGE') throw error;
  }
  statement.setReadBigInts(true);
  try {
    return read();
  } finally {
    statement.setReadBigInts(false);
  }
}

/** Returns a number that a usable row must have; undefined if the row has none. */
export function safeNumber(column: SQLOutputValue | undefined): number | undefined {
  const number = Number(column);
  return column !== null && Number.isSafeInteger(number) ? number : undefined;
}
