/** Settings and learned host limits in the database. */

import type { DatabaseSync } from 'node:sqlite';
import type { HostLimit } from '@millrace/shared/download/host-limits';
import { storageError } from './database.ts';

/** Values by name, JSON each. */
export class SettingStore {
  readonly #db: DatabaseSync;

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  /** @returns undefined if there is none, or none that can be read */
  get(name: string): unknown {
    const row = this.#db.prepare('SELECT value FROM settings WHERE name = ?').get(name);
    if (row === undefined) return undefined;
    try {
      return JSON.parse(String(row.value));
    } catch {
      return undefined;
    }
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

export class HostStore {
  readonly #db: DatabaseSync;

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  all(): HostLimit[] {
    return this.#db
      .prepare('SELECT * FROM hosts')
      .all()
      .map((row) => ({
        host: String(row.host),
        limit: Number(row.limit),
        refusedAt: Number(row.refused_at),
        changedAt: Number(row.changed_at),
        restsUntil: Number(row.rests_until),
      }));
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

  /** Keeps these and no others. */
  replace(entries: readonly HostLimit[]): void {
    this.#db.exec('DELETE FROM hosts');
    for (const entry of entries) this.put(entry);
  }
}
