/** Downloads in the database: the queue, and the history with its search. */

import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite';
import { storageError } from './database.ts';
import type { DownloadRecord, FinishedState } from './record.ts';
import { searchedText } from './searched-text.ts';

/** What of the text of a download can be searched. */
const MAX_TEXT_CHARS = 4096;
/** Words in one search; more are not looked at. */
const MAX_WORDS = 16;
/** Shorter words than this are not in the index. */
const INDEXED_CHARS = 3;

type Row = Record<string, SQLOutputValue>;
type Values = Record<string, SQLInputValue>;

export interface HistoryFilter {
  readonly states?: readonly FinishedState[] | undefined;
  readonly category?: string | undefined;
  readonly host?: string | undefined;
  /** Words that must all be there, anywhere in name, URLs, category or error. */
  readonly text?: string | undefined;
}

export interface Page {
  readonly offset: number;
  readonly limit: number;
  /** Default: newest first. */
  readonly oldestFirst?: boolean;
}

/** What the history can be sorted by, as SQL; NULL: not known. */
const SORTS = {
  name: 'lower(name)',
  size: 'length',
  progress: 'CASE WHEN length = 0 THEN 1 ELSE stored_bytes * 1.0 / length END',
  speed: 'NULL',
  // The order of the statuses everywhere; before these are those that are not finished.
  status: "CASE state WHEN 'complete' THEN 4 WHEN 'error' THEN 5 ELSE 6 END",
  host: 'host',
  added: 'created_at',
  finished: 'finished_at',
} as const;

/** Those that may not be known; the others can be read from an index where there is one. */
const NULLABLE: ReadonlySet<string> = new Set(['size', 'progress', 'speed']);

export type HistorySort = keyof typeof SORTS;

/** A place in the sorted history. */
export interface HistoryRow {
  readonly gid: string;
  readonly value: string | number | undefined;
}

const COLUMNS = [
  'gid',
  'state',
  'request',
  'options',
  'priority',
  'rank',
  'category',
  'host',
  'name',
  'path',
  'length',
  'stored_bytes',
  'received_bytes',
  'created_at',
  'started_at',
  'finished_at',
  'attempts',
  'retry_at',
  'error',
  'digest',
  'active_ms',
  'text',
] as const;

const PUT = `INSERT INTO downloads (${COLUMNS.join()}) VALUES (${COLUMNS.map((c) => `:${c}`).join()})
  ON CONFLICT (gid) DO UPDATE SET ${COLUMNS.slice(1).map((name) => `${name} = excluded.${name}`)}`;

export class DownloadStore {
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  /**
   * Runs `work` as one transaction: all of it is kept, or nothing.
   *
   * @throws MillraceError `disk-full`, `state-unusable`
   */
  atOnce<T>(work: () => T): T {
    // Inside another it is part of that.
    if (this.#db.isTransaction) return work();
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      const result = work();
      this.#db.exec('COMMIT');
      return result;
    } catch (error) {
      // Where the disk is full, SQLite may have done so by itself.
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw storageError(error);
    }
  }

  /** Keeps a download, new or changed. @throws MillraceError `disk-full`, `state-unusable` */
  put(record: DownloadRecord): void {
    try {
      this.#prepare(PUT).run(toRow(record));
    } catch (error) {
      throw storageError(error);
    }
  }

  get(gid: string): DownloadRecord | undefined {
    const row = this.#prepare('SELECT * FROM downloads WHERE gid = ?').get(gid);
    return row === undefined ? undefined : fromRow(row);
  }

  /**
   * The download that a hand-off of a browser has become.
   *
   * @param since only one that was made after this time, Unix milliseconds
   */
  withHandOff(name: string, since: number): string | undefined {
    const row = this.#prepare(
      `SELECT gid FROM hand_offs JOIN downloads USING (gid)
       WHERE hand_offs.name = :name AND created_at > :since`,
    ).get({ name, since: Math.round(since) });
    return row === undefined ? undefined : String(row.gid);
  }

  /** Gids that begin so, two at most: one is meant, two are not clear. */
  startingWith(prefix: string): string[] {
    const rows = this.#prepare(
      'SELECT gid FROM downloads WHERE gid >= :low AND gid < :high LIMIT 2',
    ).all({ low: prefix, high: `${prefix}g` });
    return rows.map((row) => String(row.gid));
  }

  /** @returns whether it was there */
  delete(gid: string): boolean {
    return this.#prepare('DELETE FROM downloads WHERE gid = ?').run(gid).changes === 1;
  }

  /** The queue as it was left; rows that cannot be understood are counted, not thrown. */
  unfinished(): { records: DownloadRecord[]; damaged: number } {
    const rows = this.#prepare('SELECT * FROM downloads WHERE finished_at IS NULL').all();
    const records: DownloadRecord[] = [];
    for (const row of rows) {
      const record = tryFromRow(row);
      if (record !== undefined) records.push(record);
    }
    return { records, damaged: rows.length - records.length };
  }

  /** The history, a page of it, and how many there are in all. */
  history(filter: HistoryFilter, page: Page): { total: number; records: DownloadRecord[] } {
    const { where, values } = conditions(filter);
    const way = page.oldestFirst === true ? 'ASC' : 'DESC';
    const order = `ORDER BY finished_at ${way}, id ${way}`;
    // A search looks at every row that it counts: it does so once.
    if (filter.text !== undefined) return this.#found(where, order, values, page);
    const count = this.#prepare(`SELECT count(*) AS n FROM downloads WHERE ${where}`).get(values);
    const rows = this.#prepare(
      `SELECT * FROM downloads WHERE ${where} ${order} LIMIT :limit OFFSET :offset`,
    ).all({ ...values, limit: page.limit, offset: page.offset });
    return { total: Number(count?.n), records: rows.flatMap((row) => tryFromRow(row) ?? []) };
  }

  /** Where downloads stand in the sorted history: a stretch of it, and how many there are in all. */
  sorted(
    filter: HistoryFilter,
    sort: HistorySort,
    descending: boolean,
    offset: number,
    limit: number,
  ): { total: number; page: HistoryRow[] } {
    const { where, values } = conditions(filter);
    const count = this.#prepare(`SELECT count(*) AS n FROM downloads WHERE ${where}`).get(values);
    const way = descending ? 'DESC' : 'ASC';
    const rows = this.#prepare(
      `SELECT gid, ${SORTS[sort]} AS value FROM downloads WHERE ${where}
       ORDER BY ${NULLABLE.has(sort) ? 'value IS NULL,' : ''} value ${way}, id ${way} LIMIT :limit OFFSET :offset`,
    ).all({ ...values, limit, offset });
    return {
      total: Number(count?.n),
      page: rows.map(({ gid, value }) => ({
        gid: String(gid),
        value: value === null ? undefined : (value as string | number),
      })),
    };
  }

  /** How many there are in the history, by state and by category. */
  counts(): { byState: Map<string, number>; byCategory: Map<string, number> } {
    const byState = new Map<string, number>();
    const byCategory = new Map<string, number>();
    const add = (map: Map<string, number>, name: string, n: number) =>
      map.set(name, (map.get(name) ?? 0) + n);
    const rows = this.#prepare(
      `SELECT state, category, count(*) AS n FROM downloads WHERE finished_at IS NOT NULL
       GROUP BY state, category`,
    ).all();
    for (const { state, category, n } of rows) {
      add(byState, String(state), Number(n));
      if (category !== null) add(byCategory, String(category), Number(n));
    }
    return { byState, byCategory };
  }

  /** Downloads of a URL, whatever follows "?" in it: unfinished ones first, then the newest. */
  withUrl(url: string, limit: number): DownloadRecord[] {
    const end = url.indexOf('?');
    const rows = this.#prepare(
      `SELECT downloads.* FROM urls JOIN downloads USING (id) WHERE key = :key
       ORDER BY finished_at IS NOT NULL, finished_at DESC LIMIT :limit`,
    ).all({ key: end < 0 ? url : url.slice(0, end), limit });
    return rows.flatMap((row) => tryFromRow(row) ?? []);
  }

  #found(where: string, order: string, values: Values, { offset, limit }: Page) {
    const sql = `SELECT id FROM downloads WHERE ${where} ${order}`;
    const ids = this.#prepare(sql).all(values);
    const get = this.#prepare('SELECT * FROM downloads WHERE id = ?');
    const records = ids.slice(offset, offset + limit).flatMap(({ id }) => {
      const row = get.get(id as number);
      return (row && tryFromRow(row)) ?? [];
    });
    return { total: ids.length, records };
  }

  /** Deletes from the history. @returns the gids that are gone */
  purge(states: readonly FinishedState[] | undefined, before: number | undefined): string[] {
    const { where, values } = conditions({ states });
    const until = before ?? Number.MAX_SAFE_INTEGER;
    const rows = this.#prepare(
      `DELETE FROM downloads WHERE ${where} AND finished_at < :until RETURNING gid`,
    ).all({ ...values, until });
    return rows.map((row) => String(row.gid));
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

function conditions(filter: HistoryFilter): { where: string; values: Values } {
  const parts = ['finished_at IS NOT NULL'];
  const values: Values = {};
  if (filter.states !== undefined) {
    const names = filter.states.map((state, i) => {
      values[`state${i}`] = state;
      return `:state${i}`;
    });
    parts.push(`state IN (${names.join()})`);
  }
  if (filter.category !== undefined) {
    parts.push('category = :category');
    values.category = filter.category;
  }
  if (filter.host !== undefined) {
    parts.push('host = :host');
    values.host = filter.host;
  }
  const words = wordsOf(filter.text ?? '');
  const indexed = words.filter((word) => [...word].length >= INDEXED_CHARS);
  if (indexed.length > 0) {
    parts.push('id IN (SELECT rowid FROM search WHERE search MATCH :match)');
    values.match = indexed.map((word) => `"${word.replaceAll('"', '""')}"`).join(' AND ');
  }
  for (const [i, word] of words.filter((w) => !indexed.includes(w)).entries()) {
    parts.push(`instr(text, :word${i}) > 0`);
    values[`word${i}`] = word;
  }
  return { where: parts.join(' AND '), values };
}

function wordsOf(text: string): string[] {
  const words = normalise(text.slice(0, MAX_TEXT_CHARS)).split(/\s+/);
  return [...new Set(words.filter((word) => word !== ''))].slice(0, MAX_WORDS);
}

/** Case and the ways of writing one character do not matter; NUL would end the text. */
function normalise(text: string): string {
  return text.normalize('NFKC').toLowerCase().replaceAll('\0', '');
}

function toRow(r: DownloadRecord): Values {
  return {
    gid: r.gid,
    state: r.state,
    request: JSON.stringify(r.request),
    options: JSON.stringify(r.options),
    priority: r.priority,
    rank: r.rank,
    category: r.category ?? null,
    host: r.host,
    name: r.name,
    path: r.path ?? null,
    length: r.length ?? null,
    stored_bytes: r.storedBytes,
    received_bytes: r.receivedBytes,
    created_at: Math.round(r.createdAt),
    started_at: round(r.startedAt),
    finished_at: round(r.finishedAt),
    attempts: r.attempts,
    retry_at: round(r.retryAt),
    error: r.error === undefined ? null : JSON.stringify(r.error),
    digest: r.digest === undefined ? null : JSON.stringify(r.digest),
    active_ms: Math.round(r.activeMs ?? 0),
    text: normalise(searchedText(r)).slice(0, MAX_TEXT_CHARS),
  };
}

function round(value: number | undefined): number | null {
  return value === undefined ? null : Math.round(value);
}

function tryFromRow(row: Row): DownloadRecord | undefined {
  try {
    return fromRow(row);
  } catch {
    return undefined;
  }
}

function fromRow(row: Row): DownloadRecord {
  const number = (name: string) => (row[name] === null ? undefined : Number(row[name]));
  const text = (name: string) => (row[name] === null ? undefined : String(row[name]));
  const json = (name: string) => (row[name] === null ? undefined : JSON.parse(String(row[name])));
  return {
    gid: String(row.gid),
    state: String(row.state) as DownloadRecord['state'],
    request: json('request'),
    options: json('options'),
    priority: Number(row.priority),
    rank: Number(row.rank),
    category: text('category'),
    host: String(row.host),
    name: String(row.name),
    path: text('path'),
    length: number('length'),
    storedBytes: Number(row.stored_bytes),
    receivedBytes: Number(row.received_bytes),
    createdAt: Number(row.created_at),
    startedAt: number('started_at'),
    finishedAt: number('finished_at'),
    attempts: Number(row.attempts),
    retryAt: number('retry_at'),
    error: json('error'),
    digest: json('digest'),
    activeMs: Number(row.active_ms) || undefined,
  };
}
