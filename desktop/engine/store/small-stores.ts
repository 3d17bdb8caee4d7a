/** Settings and learned host limits in the database. */

import type { DatabaseSync } from 'node:sqlite';
import type { HostLimit } from '@millrace/shared/download/transfer/host-limits';
import { tryRead } from '@millrace/shared/schema/read';
import * as z from 'zod';
import { allRows, oneRow, type TellDamage } from './damaged-rows.ts';
import { storageError } from './database.ts';
import { parseJson, plain, type Row } from './kept-record.ts';

/** Stores values by name, each as JSON. */
export class SettingStore {
  readonly #db: DatabaseSync;
  readonly #tell: TellDamage;

  /** @param tell called for each unreadable value */
  constructor(db: DatabaseSync, tell: TellDamage = () => {}) {
    this.#db = db;
    this.#tell = tell;
  }

  /** @returns undefined if the value is missing or unreadable */
  get(name: string): unknown {
    const row = oneRow(this.#db.prepare('SELECT value FROM settings WHERE name = :name'), { name });
    if (row === undefined) return undefined;
    const read = parseJson(row.value);
    if ('value' in read) return read.value;
    this.isDamaged(name, read.damage);
    return undefined;
  }

  /** Returns true even if the value is unreadable. */
  has(name: string): boolean {
    return this.#db.prepare('SELECT 1 FROM settings WHERE name = ?').get(name) !== undefined;
  }

  /** Reports a value that is unreadable as a whole or in part. */
  isDamaged(name: string, why: string): void {
    this.#tell('settings', name, why);
  }

  /** @throws MillraceError `disk-full`, `state-unusable` */
  set(name: string, value: unknown): void {
    try {
      this.#db
        .prepare('INSERT OR REPLACE INTO settings (name, value) VALUES (?, ?)')
        .run(name, JSON.stringify(value ?? null));
    } catch (error) {
      throw storageError(error);
    }
  }
}

const hostSchema = z.object({
  host: z.string().min(1),
  limit: z.number().int().min(1),
  refusedAt: z.number(),
  changedAt: z.number(),
  restsUntil: z.number(),
});

/** Reads a row of the table of hosts; undefined if the row is unreadable. */
function readHostRow(row: Row): HostLimit | undefined {
  return tryRead(hostSchema, {
    host: row.host,
    limit: plain(row.limit),
    refusedAt: plain(row.refused_at),
    changedAt: plain(row.changed_at),
    restsUntil: plain(row.rests_until),
  }).data;
}

export class HostStore {
  readonly #db: DatabaseSync;
  readonly #tell: TellDamage;

  /** @param tell called for each unreadable row */
  constructor(db: DatabaseSync, tell: TellDamage = () => {}) {
    this.#db = db;
    this.#tell = tell;
  }

  all(): HostLimit[] {
    return allRows(this.#db.prepare('SELECT * FROM hosts')).flatMap((row) => {
      const read = readHostRow(row);
      if (read === undefined) this.#tell('hosts', String(row.host), 'is not a limit of a host');
      return read ?? [];
    });
  }

  /** @throws MillraceError `disk-full`, `state-unusable` */
  put(entry: HostLimit): void {
    try {
      this.#put(entry);
    } catch (error) {
      throw storageError(error);
    }
  }

  #put(entry: HostLimit): void {
    this.#db
      .prepare('INSERT OR REPLACE INTO hosts VALUES (?, ?, ?, ?, ?)')
      .run(
        entry.host,
        entry.limit,
        Math.round(entry.refusedAt),
        Math.round(entry.changedAt),
        Math.round(entry.restsUntil),
      );
  }

  delete(host: string): void {
    this.#db.prepare('DELETE FROM hosts WHERE host = ?').run(host);
  }

  /** Replaces all limits with these. */
  replace(entries: readonly HostLimit[]): void {
    this.#db.exec('DELETE FROM hosts');
    for (const entry of entries) this.put(entry);
  }
}
