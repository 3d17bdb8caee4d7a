/** Stores details of how downloads went, for users who look at a download long after its end. */

import type { DatabaseSync } from 'node:sqlite';
import type { TellDamage } from './damaged-rows.ts';
import { parseJson } from './kept-record.ts';

/** Most downloads whose details are kept; the oldest are forgotten. */
const MAX_DETAILS = 1000;
const MAX_CHARS = 64 * 1024;

export class DetailStore {
  readonly #db: DatabaseSync;
  readonly #tell: TellDamage;

  /** @param tell called for each unreadable value */
  constructor(db: DatabaseSync, tell: TellDamage = () => {}) {
    this.#db = db;
    this.#tell = tell;
  }

  /** @returns undefined if the details are missing or unreadable */
  get(gid: string): unknown {
    const row = this.#db.prepare('SELECT value FROM details WHERE gid = ?').get(gid);
    const read = parseJson(row?.value);
    if ('value' in read) return read.value;
    this.isDamaged(gid, read.damage);
    return undefined;
  }

  /** Reports details that are unreadable as a whole or in part. */
  isDamaged(gid: string, why: string): void {
    this.#tell('details', gid, why);
  }

  /** Stores a value as JSON; drops a value longer than `MAX_CHARS` characters. */
  put(gid: string, value: unknown): void {
    const text = JSON.stringify(value);
    if (text.length > MAX_CHARS) return;
    this.#db
      .prepare(
        'INSERT OR REPLACE INTO details (gid, value) SELECT gid, ? FROM downloads WHERE gid = ?',
      )
      .run(text, gid);
    this.#db
      .prepare(
        `DELETE FROM details WHERE id <= (SELECT id FROM details ORDER BY id DESC LIMIT 1 OFFSET ?)`,
      )
      .run(MAX_DETAILS);
  }
}
