/** Removed downloads in the database: each as it was, and where its data is. */

import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import type { TrashEntry } from '@millrace/shared/download/trash';
import { tryRead } from '@millrace/shared/schema/read';
import { z } from 'zod';
import { storageError } from './database.ts';
import type { DownloadRecord } from './record.ts';

/** Something on disk that is to go. */
export const leftoverSchema = z.object({
  path: z.string(),
  kind: z.enum(['partial', 'file']),
  /** URLs of a partial file: one of any other stays. */
  onlyOf: z.array(z.string()).optional(),
  /** Which file it was: another one of that name is not deleted. */
  ino: z.number().optional(),
  mtimeMs: z.number().optional(),
});
export type Leftover = z.infer<typeof leftoverSchema>;

export interface TrashRow extends TrashEntry {
  /** As it was before its removal. */
  readonly record: DownloadRecord;
  /** Its data on disk; undefined: none. */
  readonly leftover: Leftover | undefined;
  /** The data has been moved to the trash folder; else it is where it was. */
  readonly moved: boolean;
}

export class TrashStore {
  readonly #db: DatabaseSync;

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  /** What limits are about, oldest first. */
  entries(): TrashEntry[] {
    return this.#db
      .prepare('SELECT gid, batch, removed_at, bytes FROM trash ORDER BY id')
      .all()
      .map(entryOf);
  }

  /** Newest first. */
  page(offset: number, limit: number): TrashRow[] {
    return this.#db
      .prepare('SELECT * FROM trash ORDER BY id DESC LIMIT ? OFFSET ?')
      .all(limit, offset)
      .map(rowOf);
  }

  /** Those whose data has still to be moved. */
  unmoved(): string[] {
    return this.#db
      .prepare('SELECT gid FROM trash WHERE leftover IS NOT NULL AND moved = 0')
      .all()
      .map(({ gid }) => String(gid));
  }

  get(gid: string): TrashRow | undefined {
    const row = this.#db.prepare('SELECT * FROM trash WHERE gid = ?').get(gid);
    return row === undefined ? undefined : rowOf(row);
  }

  /** Gids that begin so, two at most; one that is the whole comes first. */
  startingWith(prefix: string): string[] {
    return this.#db
      .prepare('SELECT gid FROM trash WHERE gid >= ? AND gid < ? ORDER BY gid LIMIT 2')
      .all(prefix, `${prefix}g`)
      .map(({ gid }) => String(gid));
  }

  /** Gids of what was removed at once, as it was removed; default: the last time. */
  batch(batch?: string): string[] {
    return this.#db
      .prepare(
        `SELECT gid FROM trash
         WHERE batch = coalesce(?, (SELECT batch FROM trash ORDER BY id DESC LIMIT 1)) ORDER BY id`,
      )
      .all(batch ?? null)
      .map(({ gid }) => String(gid));
  }

  totals(): { readonly count: number; readonly bytes: number } {
    const { count, bytes } = this.#db
      .prepare('SELECT count(*) AS count, coalesce(sum(bytes), 0) AS bytes FROM trash')
      .get() as { count: number; bytes: number };
    return { count, bytes };
  }

  /** @throws MillraceError `disk-full`, `state-unusable` */
  put(row: TrashRow): void {
    const { gid, batch, removedAt, bytes, record, leftover, moved } = row;
    try {
      this.#db
        .prepare(
          `INSERT INTO trash (gid, batch, removed_at, bytes, record, leftover, moved)
           VALUES (?, ?, ?, ?, ?, ?, ?)
           ON CONFLICT (gid) DO UPDATE SET batch = excluded.batch, removed_at = excluded.removed_at,
             bytes = excluded.bytes, record = excluded.record, leftover = excluded.leftover,
             moved = excluded.moved`,
        )
        .run(
          gid,
          batch,
          Math.round(removedAt),
          Math.round(bytes),
          JSON.stringify(record),
          leftover === undefined ? null : JSON.stringify(leftover),
          moved ? 1 : 0,
        );
    } catch (error) {
      throw storageError(error);
    }
  }

  delete(gid: string): void {
    this.#db.prepare('DELETE FROM trash WHERE gid = ?').run(gid);
  }
}

type Row = Record<string, SQLOutputValue>;

function entryOf(row: Row): TrashEntry {
  return {
    gid: String(row.gid),
    batch: String(row.batch),
    removedAt: Number(row.removed_at),
    bytes: Number(row.bytes),
  };
}

function rowOf(row: Row): TrashRow {
  const leftover = typeof row.leftover === 'string' ? JSON.parse(row.leftover) : undefined;
  return {
    ...entryOf(row),
    record: JSON.parse(String(row.record)) as DownloadRecord,
    leftover: tryRead(leftoverSchema, leftover).data,
    moved: row.moved === 1,
  };
}
