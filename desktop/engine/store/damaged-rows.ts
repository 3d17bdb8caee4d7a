/**
 * Unreadable rows. They stay where they are, for a later repair; lists leave them out, and the log
 * names each of them once.
 */

import type { SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite';
import type { Reading, Row } from './kept-record.ts';

/** Names an unreadable row in the log. */
export type TellDamage = (table: string, row: string, why: string) => void;

/** Most lines about damage: enough for a list that is damaged all over. */
const MAX_TOLD = 50;

/** Makes a teller that says each thing once, and not too many. */
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

  /** A condition that excludes the known ones, with `:damaged` in it; none while there are none. */
  get conditions(): string[] {
    if (this.#known.size === 0) return [];
    return ['id NOT IN (SELECT value FROM json_each(:damaged))'];
  }

  /** Values of `:damaged`. */
  get values(): Record<string, SQLInputValue> {
    return this.#known.size === 0 ? {} : { damaged: `[${[...this.#known.keys()].join()}]` };
  }

  /** Reads a row; a damaged one is noted. */
  read<T>(row: Row, reader: (row: Row) => Reading<T>): T | undefined {
    const reading = reader(row);
    if ('value' in reading) return reading.value;
    const gid = String(row.gid);
    this.#known.set(row.id as number | bigint, gid);
    this.#tell(this.#table, `row ${row.id}, ${gid}`, reading.damage);
    return undefined;
  }

  /** Call it for a row that has been rewritten, or is gone. */
  forget(gid: string): void {
    if (this.#known.size === 0) return;
    for (const [id, one] of this.#known) if (one === gid) this.#known.delete(id);
  }

  /** Does a read of several steps again where it has found damage, so that all of it fits together. */
  whole<T>(work: () => T): T {
    for (;;) {
      const before = this.#known.size;
      const result = work();
      if (this.#known.size === before) return result;
    }
  }
}

/**
 * All rows of a statement. Numbers outside JavaScript's range, which only damage produces, come as
 * `bigint`: they must not keep the other rows from being read.
 */
export function allRows(
  statement: StatementSync,
  values: Record<string, SQLInputValue> = {},
): Row[] {
  return withLargeNumbers(statement, () => statement.all(values));
}

/** As `allRows`, for one row. */
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

/** A number that a row must have to be usable; undefined where it has none. */
export function safeNumber(column: SQLOutputValue | undefined): number | undefined {
  const number = Number(column);
  return column !== null && Number.isSafeInteger(number) ? number : undefined;
}
