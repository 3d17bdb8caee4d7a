/** The file of the database: of earlier and of newer versions, damaged, and used by one process. */

import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { afterEach, describe, expect, test } from '@jest/globals';
import { withDatabase } from '../../testing/database-stage.ts';
import { finished, gids, NOW, record } from '../../testing/numbered-records.ts';
import { openDatabase } from './database.ts';
import { DownloadStore } from './download-store.ts';

/** Takes away what versions after the third have added. */
const SINCE_3 = `
  DROP TRIGGER shared_pieces_insert; DROP TRIGGER shared_pieces_delete; DROP TABLE shared_pieces;
  DROP INDEX shared_open; DROP INDEX following_open; DROP INDEX followers; DROP TABLE trash; DROP TABLE shares;
  ALTER TABLE downloads DROP COLUMN active_ms; DROP INDEX after_open; ALTER TABLE downloads DROP COLUMN after;
  ALTER TABLE downloads DROP COLUMN after_open; ALTER TABLE downloads DROP COLUMN vouch; DROP INDEX urgent;
`;

let folder: string;
let path: string;
let db: DatabaseSync;

withDatabase((opened) => {
  ({ folder, path, db } = opened);
});
// Tests open it again.
afterEach(() => {
  if (db.isOpen) db.close();
});

describe('the file', () => {
  test('can be opened by one process at a time, and read by its user only', () => {
    expect(() => openDatabase(path, NOW)).toThrow(/A daemon is running already/);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test('of the first version gains the tables that it lacked', () => {
    const store = new DownloadStore(db);
    store.put(finished(1));
    store.put(record(2));
    db.exec(`
      DROP TRIGGER details_delete; DROP TABLE details;
      DROP TRIGGER urls_insert; DROP TRIGGER urls_update; DROP TRIGGER urls_delete;
      DROP TABLE urls; DROP INDEX kinds;
      DROP TRIGGER hand_offs_insert; DROP TRIGGER hand_offs_delete; DROP TRIGGER hand_offs_update;
      DROP TABLE hand_offs; ${SINCE_3} PRAGMA user_version = 1;
    `);
    db.close();
    ({ db } = openDatabase(path, NOW));
    const again = new DownloadStore(db);
    const find = (number: number) =>
      gids(again.withUrl(`https://host${number % 3}.example/dir/file-${number}.iso?signed`, 9));
    expect([find(1), find(2), find(3)]).toEqual([[1], [2], []]);
    again.put(record(3));
    again.delete(record(1).gid);
    expect([find(1), find(3)]).toEqual([[], [3]]);
  });

  test('of a version that searched folders no longer does so, and gains the active time', () => {
    const store = new DownloadStore(db);
    const path1 = '/home/u/Downloads/some.iso';
    store.put({ ...finished(1), state: 'complete', name: 'some.iso', path: path1 });
    db.exec(`
      UPDATE downloads SET text = 'some.iso' || char(10) || '/home/u/downloads/some.iso';
      DROP TRIGGER hand_offs_update;
      ${SINCE_3} PRAGMA user_version = 3;
    `);
    db.close();
    ({ db } = openDatabase(path, NOW));
    const again = new DownloadStore(db);
    const page = { offset: 0, limit: 9 };
    expect(again.history({ text: 'downloads' }, page).total).toBe(0);
    expect(again.history({ text: 'some' }, page).total).toBe(1);
  });

  test('of a newer version is left alone', () => {
    db.exec('PRAGMA user_version = 999');
    db.close();
    expect(() => openDatabase(path, NOW)).toThrow(/newer version/);
    expect(readdirSync(folder)).toContain('downloads.db');
  });

  test.each([
    ['no database at all', () => writeFileSync(path, 'x'.repeat(10_000))],
    ['a torn first page', () => writeFileSync(path, Buffer.concat([head(), Buffer.alloc(5000)]))],
  ])('%s is moved aside, with a note', (_name, damage) => {
    db.close();
    damage();
    const before = readFileSync(path);
    const opened = openDatabase(path, NOW);
    db = opened.db;
    expect(opened.note).toMatch(/damaged.*moved to .*downloads\.db\.damaged-2026-11-21T/);
    const aside = readdirSync(folder).find((name) => name.includes('.damaged-')) as string;
    expect(readFileSync(join(folder, aside))).toEqual(before);
    expect(new DownloadStore(db).unfinished()).toEqual([]);
  });

  test('with a damaged part gives the rows that can still be read', () => {
    const store = new DownloadStore(db);
    store.atOnce(() => {
      for (let i = 0; i < 500; i++) store.put(finished(i));
    });
    db.close();
    const bytes = readFileSync(path);
    // The last pages hold the search index and some rows.
    for (let at = bytes.length - 20 * 4096; at < bytes.length; at++) bytes[at] = 0x5a;
    writeFileSync(path, bytes);
    const opened = openDatabase(path, NOW);
    db = opened.db;
    const saved = new DownloadStore(db).history({}, { offset: 0, limit: 100 }).total;
    expect(saved).toBeGreaterThan(0);
    expect(opened.note).toContain(`${saved} downloads could still be read`);
  });

  /** Returns the first bytes of a real database. */
  const head = () => readFileSync(path).subarray(0, 100);
});
