import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { newRecord } from '../downloads/new-download.ts';
import { damageTeller } from './damaged-rows.ts';
import { openDatabase } from './database.ts';
import { toRow } from './download-row.ts';
import { DownloadStore } from './download-store.ts';
import { readDownloadRow } from './kept-record.ts';
import type { DownloadRecord } from './record.ts';
import { HostStore, SettingStore } from './small-stores.ts';
import { TrashStore } from './trash-store.ts';

const NOW = Date.UTC(2026, 10, 23);
const PAGE = { offset: 0, limit: 100 };
let folder: string;
let db: DatabaseSync;
let notes: string[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-test-'));
  db = openDatabase(join(folder, 'downloads.db'), NOW).db;
  notes = [];
});
afterEach(() => {
  if (db.isOpen) db.close();
  rmSync(folder, { recursive: true, force: true });
});

const tell = () => damageTeller((text) => notes.push(text));
const gidOf = (number: number) => number.toString(16).padStart(16, '0');

function record(number: number, part: Partial<DownloadRecord> = {}): DownloadRecord {
  const urls = [`https://host.example/file-${number}.iso`];
  const around = { gid: gidOf(number), dir: '/downloads', categories: [], now: NOW };
  return { ...newRecord({ urls }, around), state: 'complete', finishedAt: NOW + number, ...part };
}

/**
 * Damage that an edit by hand, or a disk that loses bits, can do to a row. The types of the table's
 * columns stay the same.
 */
const DAMAGE = [
  `request = '{'`,
  `request = 'null'`,
  `request = '[]'`,
  `request = json_set(request, '$.urls', json('[]'))`,
  `request = json_set(request, '$.urls[0]', 'file:///etc/passwd')`,
  `request = json_set(request, '$.urls', json('{"length":{"toString":null}}'))`,
  `request = json_set(request, '$.dir', 'not/absolute')`,
  `request = json_set(request, '$.headers', 7)`,
  `request = json_set(request, '$.connections', 0)`,
  `request = json_set(request, '$.digests[0]', json('{"algorithm":"sha256","hex":"ab"}'))`,
  `options = '1'`,
  `options = json_remove(options, '$.maxTries')`,
  `state = 'gone'`,
  `state = 'queued'`,
  `gid = '../../home'`,
  `rank = 9e999`,
  `length = -1`,
  `length = 9007199254740993`,
  `stored_bytes = 9223372036854775807`,
  `error = '{"code":"x"}'`,
  `digest = '{"algorithm":"rot13","hex":"ab"}'`,
];

describe('a damaged row of the history', () => {
  test.each(DAMAGE)('is left out, and no other row: %s', (damage) => {
    const store = new DownloadStore(db, tell());
    for (let i = 1; i <= 5; i++) store.put(record(i));
    db.exec(`UPDATE downloads SET ${damage} WHERE gid = '${gidOf(3)}'`);
    const others = [5, 4, 2, 1].map(gidOf);
    const { total, records } = store.history({}, PAGE);
    expect(records.map(({ gid }) => gid)).toEqual(others);
    expect(total).toBe(4);
    expect([...store.counts().byState]).toEqual([['complete', 4]]);
    const sorted = store.sorted({}, 'size', false, 0, 9);
    expect(sorted.page.map(({ gid }) => gid).sort()).toEqual([...others].sort());
    expect(store.history({ text: 'iso' }, PAGE).total).toBe(4);
    // The row is named once, and stays in the table.
    expect(notes).toHaveLength(1);
    expect(notes[0]).toContain('downloads, row 3');
    expect(db.prepare('SELECT count(*) AS n FROM downloads').get()).toEqual({ n: 5 });
  });

  test('is found without being listed, and then is in no total', () => {
    const store = new DownloadStore(db, tell());
    for (let i = 1; i <= 250; i++) store.put(record(i));
    db.exec(`UPDATE downloads SET options = '' WHERE gid = '${gidOf(7)}'`);
    const first = () => store.history({}, { offset: 0, limit: 10 }).total;
    expect(first()).toBe(250);
    let after: number | undefined = 0;
    let steps = 0;
    for (; after !== undefined; steps++) after = store.checkSome(after, 100);
    expect(steps).toBe(4);
    expect(first()).toBe(249);
    expect(store.damaged).toEqual([gidOf(7)]);
  });

  test('keeps its gid in use, and is not deleted with the others', () => {
    const store = new DownloadStore(db, tell());
    for (let i = 1; i <= 3; i++) store.put(record(i));
    db.exec(`UPDATE downloads SET request = '' WHERE gid = '${gidOf(2)}'`);
    expect(store.get(gidOf(2))).toBeUndefined();
    expect(store.has(gidOf(2))).toBe(true);
    expect(store.deleteFinished(undefined, undefined)).toEqual([gidOf(1), gidOf(3)]);
    expect(store.has(gidOf(2))).toBe(true);
    // A caller that still holds the whole record, such as the trash or a backup, repairs the row.
    store.put(record(2));
    expect(store.damaged).toEqual([]);
    expect(store.history({}, PAGE).total).toBe(1);
  });

  test('is reported at most fifty times, and never with its content', () => {
    const store = new DownloadStore(db, tell());
    for (let i = 1; i <= 80; i++) store.put(record(i));
    db.exec(`UPDATE downloads SET request = '{"login":"secret'`);
    expect(store.history({}, PAGE)).toEqual({ total: 0, records: [] });
    expect(notes).toHaveLength(51);
    expect(notes.join()).not.toContain('secret');
  });
});

test('a damaged row of the queue is left out, and no other row', () => {
  const store = new DownloadStore(db, tell());
  for (let i = 1; i <= 3; i++) store.put(record(i, { state: 'paused', finishedAt: undefined }));
  db.exec(`UPDATE downloads SET priority = 1.0, stored_bytes = -5 WHERE gid = '${gidOf(1)}'`);
  expect(store.unfinished().map(({ gid }) => gid)).toEqual([gidOf(2), gidOf(3)]);
  expect(notes).toEqual([expect.stringContaining('storedBytes')]);
});

test('fields that an earlier version did not store get their defaults', () => {
  const { request, ...row } = toRow(record(1)) as Record<string, string>;
  const { urls, dir } = JSON.parse(request as string);
  const read = readDownloadRow({ ...row, id: 1, request: JSON.stringify({ urls, dir }) });
  expect('value' in read && read.value.request).toMatchObject({ connections: 32, digests: [] });
});

describe('a damaged row of the trash', () => {
  const entry = (number: number) => ({
    ...{ gid: gidOf(number), batch: 'b', removedAt: NOW, bytes: 10, moved: true },
    record: record(number),
    leftover: { path: `/downloads/file-${number}.iso`, kind: 'partial' as const },
  });

  test.each([
    `record = '{'`,
    `record = 'null'`,
    `record = json_remove(record, '$.request')`,
    `record = json_set(record, '$.gid', '${gidOf(9)}')`,
    `leftover = '{'`,
    `leftover = '{"path":7,"kind":"file"}'`,
    `leftover = json_set(leftover, '$.path', 'relative')`,
    `removed_at = 9223372036854775807`,
    `bytes = 9223372036854775807`,
    `bytes = -1`,
    `gid = '../../home'`,
  ])('is left out, and no other row: %s', (damage) => {
    const store = new TrashStore(db, tell());
    for (let i = 1; i <= 3; i++) store.put(entry(i));
    db.exec(`UPDATE trash SET ${damage} WHERE gid = '${gidOf(2)}'`);
    expect(store.page(0, 9).map(({ gid }) => gid)).toEqual([gidOf(3), gidOf(1)]);
    expect(store.totals()).toEqual({ count: 2, bytes: 20 });
    expect(notes).toHaveLength(1);
    // Limits must not count unreadable entries, or readable ones would be deleted for them.
    expect(store.entries().every(({ bytes }) => bytes === 10)).toBe(true);
    expect(store.gids()).toHaveLength(3);
  });

  test('gives the fields needed to delete its data, unless they would lead elsewhere', () => {
    const store = new TrashStore(db, tell());
    for (let i = 1; i <= 3; i++) store.put(entry(i));
    db.exec(`UPDATE trash SET record = '' WHERE gid = '${gidOf(1)}'`);
    db.exec(`UPDATE trash SET leftover = '' WHERE gid = '${gidOf(2)}'`);
    db.exec(`UPDATE trash SET gid = '../..' WHERE gid = '${gidOf(3)}'`);
    const { leftover, bytes, moved } = entry(1);
    expect(store.data(gidOf(1))).toEqual({ gid: gidOf(1), bytes, leftover, moved });
    expect(store.data(gidOf(2))?.leftover).toBeUndefined();
    expect(store.data('../..')?.leftover).toBeUndefined();
    expect(store.data(gidOf(9))).toBeUndefined();
  });
});

test('a damaged host limit and a damaged setting are named, and others stay readable', () => {
  const hosts = new HostStore(db, tell());
  const limit = { host: 'a', limit: 3, refusedAt: NOW, changedAt: NOW, restsUntil: 0 };
  for (const host of ['a', 'b', 'c']) hosts.put({ ...limit, host });
  db.exec(`UPDATE hosts SET "limit" = 9223372036854775807 WHERE host = 'b'`);
  db.exec(`UPDATE hosts SET "limit" = 0 WHERE host = 'c'`);
  expect(hosts.all()).toEqual([limit]);
  const settings = new SettingStore(db, tell());
  db.exec(`INSERT INTO settings VALUES ('bad', '{')`);
  expect(settings.get('bad')).toBeUndefined();
  expect(settings.has('bad')).toBe(true);
  expect(notes.map((note) => /\((.*)\)/.exec(note)?.[1])).toEqual([
    'hosts, b',
    'hosts, c',
    'settings, bad',
  ]);
});
