/** Stores downloads in the database: the queue, and the history with its search. */

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { allRows, DamagedRows, oneRow, type TellDamage } from './damaged-rows.ts';
import { storageError } from './database.ts';
import { PUT_DOWNLOAD, toRow } from './download-row.ts';
import { conditionsOf, type HistoryFilter, type Values } from './history-filter.ts';
import { type Row, readDownloadRow } from './kept-record.ts';
import type { DownloadRecord, FinishedState } from './record.ts';

/** Most rows in memory at a time while all rows are checked. */
const CHECKED_AT_ONCE = 1000;

export interface Page {
  readonly offset: number;
  readonly limit: number;
  /** Default: newest first. */
  readonly oldestFirst?: boolean;
}

/** Sort keys of the history, as SQL; NULL means unknown. */
const SORTS = {
  name: 'lower(name)',
  size: 'length',
  progress: 'CASE WHEN length = 0 THEN 1 ELSE stored_bytes * 1.0 / length END',
  speed: 'NULL',
  eta: 'NULL',
  // The common order of statuses; unfinished ones come before these.
  status: "CASE state WHEN 'complete' THEN 4 WHEN 'error' THEN 5 ELSE 6 END",
  host: 'host',
  added: 'created_at',
  finished: 'finished_at',
  // `urgency` of the states of the history. The index `urgent` has this very expression.
  urgent: "CASE state WHEN 'error' THEN 2000000000000000 ELSE 3000000000000000 END - created_at",
} as const;

/** Keys whose value may be unknown. The other keys can be read from an index, if there is one. */
const NULLABLE: ReadonlySet<string> = new Set(['size', 'progress', 'speed', 'eta']);

export type HistorySort = keyof typeof SORTS;

/** One download of the sorted history, with the value that it is sorted by. */
export interface HistoryRow {
  readonly gid: string;
  readonly value: string | number | undefined;
}

export class DownloadStore {
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  readonly #damaged: DamagedRows;

  /** @param tell called for each unreadable row */
  constructor(db: DatabaseSync, tell: TellDamage = () => {}) {
    this.#db = db;
    this.#damaged = new DamagedRows('downloads', tell);
  }

  /**
   * Runs `work` as one transaction, which is kept as a whole or not at all.
   *
   * @throws MillraceError `disk-full`, `state-unusable`
   */
  atOnce<T>(work: () => T): T {
    // Inside another transaction, the work becomes part of it.
    if (this.#db.isTransaction) return work();
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      const result = work();
      this.#db.exec('COMMIT');
      return result;
    } catch (error) {
      // SQLite may have rolled back by itself, for example if the disk is full.
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw storageError(error);
    }
  }

  /** Stores a new or changed download. @throws MillraceError `disk-full`, `state-unusable` */
  put(record: DownloadRecord): void {
    try {
      this.#prepare(PUT_DOWNLOAD).run(toRow(record));
      this.#damaged.forget(record.gid);
    } catch (error) {
      throw storageError(error);
    }
  }

  /** @returns undefined if the download is missing or unreadable */
  get(gid: string): DownloadRecord | undefined {
    const row = oneRow(this.#prepare('SELECT * FROM downloads WHERE gid = :gid'), { gid });
    return row && this.#read(row);
  }

  /** Returns true for an unreadable download as well, because no other may take its row. */
  has(gid: string): boolean {
    return this.#prepare('SELECT 1 FROM downloads WHERE gid = ?').get(gid) !== undefined;
  }

  /**
   * Reads some finished downloads to find unreadable ones.
   *
   * @param after id of the last download checked before; 0 for the first call
   * @returns `after` for the next call; undefined at the end
   */
  checkSome(after: number, limit: number): number | undefined {
    const rows = allRows(
      this.#prepare(
        `SELECT * FROM downloads WHERE finished_at IS NOT NULL AND id > :after
         ORDER BY id LIMIT :limit`,
      ),
      { after, limit },
    );
    for (const row of rows) this.#read(row);
    const last = rows.at(-1);
    return last === undefined ? undefined : Number(last.id);
  }

  /** Gids of downloads known to be damaged. */
  get damaged(): string[] {
    return this.#damaged.gids;
  }

  /**
   * Finds the download that was made for a browser's hand-off.
   *
   * @param since Unix milliseconds; only a download made, or given its link, after this time counts
   */
  withHandOff(name: string, since: number): string | undefined {
    const row = this.#prepare(
      `SELECT gid FROM hand_offs JOIN downloads USING (gid)
       WHERE hand_offs.name = :name
         AND (created_at > :since OR json_extract(options, '$.renewedAt') > :since)`,
    ).get({ name, since: Math.round(since) });
    return row === undefined ? undefined : String(row.gid);
  }

  /** Returns at most two gids that begin with the prefix, enough to see if the prefix is unique. */
  startingWith(prefix: string): string[] {
    const where = ['gid >= :low', 'gid < :high', ...this.#damaged.conditions].join(' AND ');
    const rows = this.#prepare(`SELECT gid FROM downloads WHERE ${where} LIMIT 2`).all({
      low: prefix,
      high: `${prefix}g`,
      ...this.#damaged.values,
    });
    return rows.map((row) => String(row.gid));
  }

  /** @returns whether the download was stored */
  delete(gid: string): boolean {
    this.#damaged.forget(gid);
    return this.#prepare('DELETE FROM downloads WHERE gid = ?').run(gid).changes === 1;
  }

  /** Reads the queue as it was left, without unreadable rows. */
  unfinished(): DownloadRecord[] {
    const rows = allRows(this.#prepare('SELECT * FROM downloads WHERE finished_at IS NULL'));
    return rows.flatMap((row) => this.#read(row) ?? []);
  }

  /** Reads the downloads that are complete, while an action after them has not ended. */
  afterOpen(): DownloadRecord[] {
    const rows = allRows(
      this.#prepare(
        `SELECT * FROM downloads WHERE after_open = 1 AND state = 'complete' ORDER BY id`,
      ),
    );
    return rows.flatMap((row) => this.#read(row) ?? []);
  }

  /** Returns the gids of finished downloads, those that ended first before the others. */
  finishedGids(most: number): string[] {
    const sql = `SELECT gid FROM downloads WHERE finished_at IS NOT NULL ORDER BY finished_at, id LIMIT ?`;
    return this.#prepare(sql)
      .all(most)
      .map(({ gid }) => String(gid));
  }

  /** Returns the gids of files that have a part of a shared piece, the newest first. */
  withShared(key: string, most: number): string[] {
    const rows = this.#prepare(
      `SELECT gid FROM shared_pieces JOIN downloads USING (gid) WHERE key = :key
       ORDER BY id DESC LIMIT :most`,
    ).all({ key, most });
    return rows.map(({ gid }) => String(gid));
  }

  /** Returns the gids of complete files whose shared pieces have not been checked yet. */
  sharedOpen(): string[] {
    // The condition is that of the index, which SQLite would else not use.
    const rows = this.#prepare(
      `SELECT gid FROM downloads INDEXED BY shared_open WHERE state = 'complete' AND json_valid(options)
       AND json_array_length(options, '$.shared') > coalesce(json_array_length(options, '$.sharedSaid'), 0)
       ORDER BY id`,
    ).all();
    return rows.map(({ gid }) => String(gid));
  }

  /** Returns the gids of complete descriptions that have not been followed to the end. */
  followingOpen(): string[] {
    const rows = this.#prepare(
      `SELECT gid FROM downloads INDEXED BY following_open WHERE state = 'complete' AND json_valid(options)
       AND json_extract(options, '$.follows') <> 'done' ORDER BY id`,
    ).all();
    return rows.map(({ gid }) => String(gid));
  }

  /** Returns the gids of downloads that a description has led to, in its order. */
  followedBy(gid: string): string[] {
    const rows = this.#prepare(
      `SELECT gid FROM downloads INDEXED BY followers WHERE json_valid(options)
       AND json_extract(options, '$.following') = :gid AND json_extract(options, '$.following') IS NOT NULL
       ORDER BY id`,
    ).all({ gid });
    return rows.map((row) => String(row.gid));
  }

  /** Reads a page of the history, and the number of all matching downloads. */
  history(filter: HistoryFilter, page: Page): { total: number; records: DownloadRecord[] } {
    return this.whole(() => this.#history(filter, page));
  }

  /** Runs reads that must agree with each other, again if they found a damaged row. */
  whole<T>(work: () => T): T {
    return this.#damaged.whole(work);
  }

  #history(filter: HistoryFilter, page: Page): { total: number; records: DownloadRecord[] } {
    const { where, values } = this.#conditions(filter);
    const way = page.oldestFirst === true ? 'ASC' : 'DESC';
    const order = `ORDER BY finished_at ${way}, id ${way}`;
    // A search has to look at every row it counts, so it counts and finds in one pass.
    if (filter.text !== undefined) return this.#found(where, order, values, page);
    const count = this.#prepare(`SELECT count(*) AS n FROM downloads WHERE ${where}`).get(values);
    const rows = allRows(
      this.#prepare(`SELECT * FROM downloads WHERE ${where} ${order} LIMIT :limit OFFSET :offset`),
      { ...values, limit: page.limit, offset: page.offset },
    );
    return { total: Number(count?.n), records: rows.flatMap((row) => this.#read(row) ?? []) };
  }

  /** Reads a page of the sorted history, and the number of all matching downloads. */
  sorted(
    filter: HistoryFilter,
    sort: HistorySort,
    descending: boolean,
    offset: number,
    limit: number,
  ): { total: number; page: HistoryRow[] } {
    const { where, values } = this.#conditions(filter);
    const count = this.#prepare(`SELECT count(*) AS n FROM downloads WHERE ${where}`).get(values);
    const way = descending ? 'DESC' : 'ASC';
    // SQLite would else find the states by another index, and sort all that it finds.
    const by = sort === 'urgent' && filter.text === undefined ? 'INDEXED BY urgent' : '';
    const rows = allRows(
      this.#prepare(
        `SELECT gid, ${SORTS[sort]} AS value FROM downloads ${by} WHERE ${where}
         ORDER BY ${NULLABLE.has(sort) ? 'value IS NULL,' : ''} value ${way}, id ${way} LIMIT :limit OFFSET :offset`,
      ),
      { ...values, limit, offset },
    );
    return {
      total: Number(count?.n),
      page: rows.map(({ gid, value }) => ({
        gid: String(gid),
        value: value === null ? undefined : (value as string | number),
      })),
    };
  }

  /** Counts the downloads of the history by state and by category. */
  counts(): { byState: Map<string, number>; byCategory: Map<string, number> } {
    const byState = new Map<string, number>();
    const byCategory = new Map<string, number>();
    const add = (map: Map<string, number>, name: string, n: number) =>
      map.set(name, (map.get(name) ?? 0) + n);
    const { where, values } = this.#conditions({});
    const rows = this.#prepare(
      `SELECT state, category, count(*) AS n FROM downloads WHERE ${where} GROUP BY state, category`,
    ).all(values);
    for (const { state, category, n } of rows) {
      add(byState, String(state), Number(n));
      if (category !== null) add(byCategory, String(category), Number(n));
    }
    return { byState, byCategory };
  }

  /**
   * Reads downloads of a URL, whatever follows "?" in it, or of the very page: unfinished ones first,
   * then the newest.
   */
  withUrl(url: string, limit: number): DownloadRecord[] {
    const end = url.indexOf('?');
    const rows = allRows(
      this.#prepare(
        `SELECT DISTINCT downloads.* FROM urls JOIN downloads USING (id) WHERE key IN (:key, :page)
         ORDER BY finished_at IS NOT NULL, finished_at DESC LIMIT :limit`,
      ),
      { key: end < 0 ? url : url.slice(0, end), page: url, limit },
    );
    return rows.flatMap((row) => this.#read(row) ?? []);
  }

  #found(where: string, order: string, values: Values, { offset, limit }: Page) {
    const sql = `SELECT id FROM downloads WHERE ${where} ${order}`;
    const ids = this.#prepare(sql).all(values);
    const get = this.#prepare('SELECT * FROM downloads WHERE id = :id');
    const records = ids.slice(offset, offset + limit).flatMap(({ id = null }) => {
      const row = oneRow(get, { id });
      return (row && this.#read(row)) ?? [];
    });
    return { total: ids.length, records };
  }

  /** Deletes downloads from the history, except unreadable rows. @returns the deleted gids */
  deleteFinished(
    states: readonly FinishedState[] | undefined,
    before: number | undefined,
  ): string[] {
    for (let at: number | undefined = 0; at !== undefined; )
      at = this.checkSome(at, CHECKED_AT_ONCE);
    const { where, values } = this.#conditions({ states });
    const until = before ?? Number.MAX_SAFE_INTEGER;
    const rows = this.#prepare(
      `DELETE FROM downloads WHERE ${where} AND finished_at < :until RETURNING gid`,
    ).all({ ...values, until });
    return rows.map((row) => String(row.gid));
  }

  #read(row: Row): DownloadRecord | undefined {
    return this.#damaged.read(row, readDownloadRow);
  }

  #conditions(filter: HistoryFilter): { where: string; values: Values } {
    const { parts, values } = conditionsOf(filter);
    return {
      where: [...parts, ...this.#damaged.conditions].join(' AND '),
      values: { ...values, ...this.#damaged.values },
    };
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#db.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}
