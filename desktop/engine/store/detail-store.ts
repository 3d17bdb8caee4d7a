/** What is kept of how downloads went: for those who look at one long after. */

import type { DatabaseSync } from 'node:sqlite';

/** The last so many; older ones are forgotten. */
const MAX_DETAILS = 1000;
const MAX_CHARS = 64 * 1024;

export class DetailStore {
  readonly #db: DatabaseSync;

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  /** @returns undefined if there is none, or none that can be read */
  get(gid: string): unknown {
    const row = this.#db.prepare('SELECT value FROM details WHERE gid = ?').get(gid);
    try {
      return row === undefined ? undefined : JSON.parse(String(row.value));
    } catch {
      return undefined;
    }
  }

  /** Keeps a value as JSON; one that is too long is not kept. */
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
