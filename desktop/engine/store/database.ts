/**
 * The database file: opened for this process alone, upgraded, and moved aside if it is damaged.
 * Readable rows of a damaged file are copied to a new one.
 */

import { chmodSync, closeSync, existsSync, openSync, renameSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import type { Detail } from '@millrace/shared/base/error-table/particulars';
import { isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { migrate } from './schema.ts';

/** SQLite's result codes (https://sqlite.org/rescode.html). */
const SQLITE_BUSY = 5;
const SQLITE_READONLY = 8;
const SQLITE_IOERR = 10;
const SQLITE_CORRUPT = 11;
const SQLITE_FULL = 13;
const SQLITE_NOTADB = 26;

export interface OpenedDatabase {
  readonly db: DatabaseSync;
  /** Note for the user if a damaged database was moved aside. */
  readonly note: string | undefined;
}

/**
 * Opens the database and locks it until the process ends, however it ends.
 *
 * @param now Unix milliseconds, for the name of a damaged file that is moved aside
 * @throws MillraceError `daemon-running` if another process has the database open, `state-unusable`
 */
export function openDatabase(path: string, now: number): OpenedDatabase {
  try {
    return { db: open(path), note: undefined };
  } catch (error) {
    if (error instanceof MillraceError) throw error;
    const code = sqliteCode(error);
    if (code === SQLITE_BUSY) throw new MillraceError('daemon-running', path, { cause: error });
    if (code !== SQLITE_CORRUPT && code !== SQLITE_NOTADB) {
      throw new MillraceError('state-unusable', `${path}: ${text(error)}`, { cause: error });
    }
    return replaceDamaged(path, now, text(error));
  }
}

function open(path: string): DatabaseSync {
  // Create the file before SQLite does, because SQLite gives its other files the same permissions.
  closeSync(openSync(path, 'a', 0o600));
  chmodSync(path, 0o600);
  const db = new DatabaseSync(path);
  try {
    // The operating system holds the lock, so a killed process cannot leave it behind.
    db.exec('PRAGMA locking_mode = EXCLUSIVE');
    db.exec('PRAGMA journal_mode = WAL');
    // An added download must survive a power cut.
    db.exec('PRAGMA synchronous = FULL');
    db.exec('BEGIN EXCLUSIVE; COMMIT');
    migrate(db);
    const [check] = db.prepare('PRAGMA quick_check(1)').all() as { quick_check: string }[];
    if (check?.quick_check !== 'ok') {
      throw Object.assign(new Error(check?.quick_check), { errcode: SQLITE_CORRUPT });
    }
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function replaceDamaged(path: string, now: number, why: string): OpenedDatabase {
  const stamp = new Date(now).toISOString().replace(/[:.]/g, '-');
  let aside = `${path}.damaged-${stamp}`;
  for (let i = 1; existsSync(aside); i++) aside = `${path}.damaged-${stamp}-${i}`;
  for (const suffix of ['', '-wal', '-shm']) {
    if (existsSync(path + suffix)) renameSync(path + suffix, aside + suffix);
  }
  const db = open(path);
  const saved = salvage(aside, db);
  return {
    db,
    note:
      `The list of downloads was damaged (${why}). It was moved to ${aside}; ` +
      `${saved} downloads could still be read and are in the new list.`,
  };
}

/** Tables whose rows are copied; the contents of the others follow from them or are rebuilt. */
const SAVED = ['downloads', 'trash', 'settings', 'hosts', 'details', 'shares'];

/** Copies the rows that can still be read. @returns the number of downloads */
function salvage(from: string, to: DatabaseSync): number {
  let old: DatabaseSync | undefined;
  try {
    // Open read-only: the user may want to repair the file by other means.
    old = new DatabaseSync(from, { readOnly: true });
    for (const table of SAVED) salvageTable(old, to, table);
  } catch {
    // Keep the rows that were copied so far.
  } finally {
    old?.close();
  }
  return Number(to.prepare('SELECT count(*) AS n FROM downloads').get()?.n);
}

function salvageTable(old: DatabaseSync, to: DatabaseSync, table: string): void {
  const names = to.prepare('SELECT name FROM pragma_table_info(?)').all(table);
  const columns = names.map(({ name }) => `"${name}"`).filter((name) => name !== '"id"');
  const insert = to.prepare(
    `INSERT OR IGNORE INTO ${table} (${columns.join()}) VALUES (${columns.map(() => '?').join()})`,
  );
  // Read from both ends, to reach the rows on either side of a damaged page.
  for (const way of ['ASC', 'DESC']) {
    try {
      const rows = old.prepare(`SELECT ${columns.join()} FROM ${table} ORDER BY rowid ${way}`);
      rows.setReadBigInts(true);
      rows.setReturnArrays(true);
      for (const row of rows.iterate() as Iterable<unknown>) {
        try {
          insert.run(...(row as SQLInputValue[]));
        } catch {
          // This row is damaged; the next one may be readable.
        }
      }
    } catch {
      // Keep the rows that were copied so far.
    }
  }
}

/** Turns a database error about the disk into a MillraceError; returns any other unchanged. */
export function storageError(error: unknown): unknown {
  const code = sqliteCode(error);
  const detail: Detail = { code: 'list-of-downloads', values: { why: text(error) } };
  if (code === SQLITE_FULL) return new MillraceError('disk-full', detail, { cause: error });
  if (code === SQLITE_IOERR || code === SQLITE_READONLY) {
    return new MillraceError('state-unusable', detail, { cause: error });
  }
  return error;
}

/** Returns true for an error that may pass, because the data to store is not at fault. */
export function isStorageError(error: unknown): boolean {
  return isMillraceError(error, 'disk-full') || isMillraceError(error, 'state-unusable');
}

function sqliteCode(error: unknown): number {
  const { errcode } = error as { errcode?: unknown };
  // The low byte is the class of the error.
  return typeof errcode === 'number' ? errcode & 0xff : 0;
}

function text(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
