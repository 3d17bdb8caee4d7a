/** Stores removed downloads in the database: the record of each, and where its data is. */

import type { DatabaseSync } from 'node:sqlite';
import type { TrashEntry } from '@millrace/shared/download/queue/trash';
import { tryRead } from '@millrace/shared/schema/read';
import * as z from 'zod';
import { allRows, DamagedRows, oneRow, safeNumber, type TellDamage } from './damaged-rows.ts';
import { storageError } from './database.ts';
import { GID, keptPath, parseJson, type Reading, type Row, readRecord } from './kept-record.ts';
import type { DownloadRecord } from './record.ts';

/** A file or partial file that is to be deleted. */
export const leftoverSchema = z.object({
  path: keptPath,
  kind: z.enum(['partial', 'file']),
  /** URLs of the partial file; the partial file of any other URL stays. */
  onlyOf: z.array(z.string()).optional(),
  /** Identity of the file, so that another file of the same name is not deleted. */
  ino: z.number().optional(),
  mtimeMs: z.number().optional(),
});
export type Leftover = z.infer<typeof leftoverSchema>;

export interface TrashRow extends TrashEntry {
  /** The record before the removal. */
  readonly record: DownloadRecord;
  /** Data on disk; undefined if there is none. */
  readonly leftover: Leftover | undefined;
  /** True once the data is in the trash folder; until then it is in its old place. */
  readonly moved: boolean;
}

/** The columns that say where a download's data is. */
export type TrashData = Pick<TrashRow, 'gid' | 'bytes' | 'leftover' | 'moved'>;

export class TrashStore {
  readonly #db: DatabaseSync;
  readonly #damaged: DamagedRows;

  /** @param tell called for each unreadable row */
  constructor(db: DatabaseSync, tell: TellDamage = () => {}) {
    this.#db = db;
    this.#damaged = new DamagedRows('trash', tell);
  }

  /** Reads the fields that limits need, oldest entry first; leaves out unreadable entries. */
  entries(): TrashEntry[] {
    const sql = 'SELECT gid, batch, removed_at, bytes FROM trash ORDER BY id';
    return allRows(this.#db.prepare(sql)).flatMap((row) => entryOf(row) ?? []);
  }

  /** Returns the gids of all entries, including unreadable ones, oldest first. */
  gids(): string[] {
    return this.#db
      .prepare('SELECT gid FROM trash ORDER BY id')
      .all()
      .map(({ gid }) => String(gid));
  }

  /** Reads a page of entries, newest first. */
  page(offset: number, limit: number): TrashRow[] {
    return this.#damaged.whole(() => {
      const sql = `SELECT * FROM trash ${this.#where()} ORDER BY id DESC LIMIT :limit OFFSET :offset`;
      const rows = allRows(this.#db.prepare(sql), { ...this.#damaged.values, limit, offset });
      return rows.flatMap((row) => this.#read(row) ?? []);
    });
  }

  /** See `DownloadStore.checkSome`. */
  checkSome(after: number, limit: number): number | undefined {
    const sql = 'SELECT * FROM trash WHERE id > :after ORDER BY id LIMIT :limit';
    const rows = allRows(this.#db.prepare(sql), { after, limit });
    for (const row of rows) this.#read(row);
    const last = rows.at(-1);
    return last === undefined ? undefined : Number(last.id);
  }

  /** Gids of entries known to be damaged. */
  get damaged(): string[] {
    return this.#damaged.gids;
  }

  /** Returns the gids of entries whose data has still to be moved. */
  unmoved(): string[] {
    return this.#db
      .prepare('SELECT gid FROM trash WHERE leftover IS NOT NULL AND moved = 0')
      .all()
      .map(({ gid }) => String(gid));
  }

  /** @returns undefined if the entry is missing or unreadable */
  get(gid: string): TrashRow | undefined {
    const row = this.#row(gid);
    return row && this.#read(row);
  }

  /**
   * Reads the fields that deleting an entry's data needs, even if the rest cannot be read.
   *
   * @returns undefined if the entry is missing
   */
  data(gid: string): TrashData | undefined {
    const row = this.#row(gid);
    if (row === undefined) return undefined;
    this.#read(row); // reports the damage
    const leftover = leftoverOf(row);
    return {
      gid,
      bytes: Math.max(0, safeNumber(row.bytes) ?? 0),
      leftover: 'value' in leftover ? leftover.value : undefined,
      moved: isMoved(row),
    };
  }

  /** Returns at most two gids with this prefix; an equal gid comes first. */
  startingWith(prefix: string): string[] {
    return this.#db
      .prepare('SELECT gid FROM trash WHERE gid >= ? AND gid < ? ORDER BY gid LIMIT 2')
      .all(prefix, `${prefix}g`)
      .map(({ gid }) => String(gid));
  }

  /** Returns the gids of one removal, in its order; by default those of the last removal. */
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
    // Unlike sum(), total() does not fail if the sum overflows.
    const { count, bytes } = this.#db
      .prepare(`SELECT count(*) AS count, total(bytes) AS bytes FROM trash ${this.#where()}`)
      .get(this.#damaged.values) as { count: number; bytes: number };
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
      this.#damaged.forget(gid);
    } catch (error) {
      throw storageError(error);
    }
  }

  delete(gid: string): void {
    this.#damaged.forget(gid);
    this.#db.prepare('DELETE FROM trash WHERE gid = ?').run(gid);
  }

  #row(gid: string): Row | undefined {
    return oneRow(this.#db.prepare('SELECT * FROM trash WHERE gid = :gid'), { gid });
  }

  #read(row: Row): TrashRow | undefined {
    return this.#damaged.read(row, readTrashRow);
  }

  #where(): string {
    return ['WHERE true', ...this.#damaged.conditions].join(' AND ');
  }
}

/** Reads a row of the trash. */
export function readTrashRow(row: Row): Reading<TrashRow> {
  const entry = entryOf(row);
  if (entry === undefined) return { damage: 'removed_at or bytes: is not a possible number' };
  const leftover = leftoverOf(row);
  if ('damage' in leftover) return { damage: `leftover: ${leftover.damage}` };
  const json = parseJson(row.record);
  const record = 'damage' in json ? json : readRecord(json.value);
  if ('damage' in record) return { damage: `record: ${record.damage}` };
  if (record.value.gid !== entry.gid) return { damage: 'record: belongs to another download' };
  const moved = isMoved(row);
  return { value: { ...entry, record: record.value, leftover: leftover.value, moved } };
}

function entryOf(row: Row): TrashEntry | undefined {
  const removedAt = safeNumber(row.removed_at);
  const bytes = safeNumber(row.bytes);
  if (removedAt === undefined || bytes === undefined || bytes < 0) return undefined;
  return { gid: String(row.gid), batch: String(row.batch), removedAt, bytes };
}

function leftoverOf({ gid, leftover }: Row): Reading<Leftover | undefined> {
  // The gid becomes part of the path of a deletion.
  if (!GID.test(String(gid))) return { damage: 'is of no download' };
  const json = parseJson(leftover);
  if ('damage' in json) return json;
  if (json.value === undefined) return { value: undefined };
  const read = tryRead(leftoverSchema, json.value);
  return read.success ? { value: read.data } : { damage: 'is of another kind' };
}

/** Reads the flag, which is a `bigint` if a large number in the row made all numbers so. */
function isMoved({ moved }: Row): boolean {
  return Number(moved) === 1;
}
