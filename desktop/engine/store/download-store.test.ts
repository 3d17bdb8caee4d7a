import type { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from '@jest/globals';
import { withDatabase } from '../../testing/database-stage.ts';
import { finished, gids, NOW, record } from '../../testing/numbered-records.ts';
import { openDatabase } from './database.ts';
import { DownloadStore } from './download-store.ts';
import type { DownloadRecord } from './record.ts';
import { HostStore, SettingStore } from './small-stores.ts';

let path: string;
let db: DatabaseSync;

withDatabase((opened) => {
  ({ path, db } = opened);
});

const page = { offset: 0, limit: 100 };

describe('downloads', () => {
  test('are read back as they were stored, with all optional fields or with none', () => {
    const store = new DownloadStore(db);
    const full: DownloadRecord = record(1, {
      state: 'error',
      path: '/downloads/\u{1f600}.iso',
      length: 2 ** 50,
      storedBytes: 2 ** 49,
      receivedBytes: 2 ** 51,
      startedAt: NOW,
      finishedAt: NOW + 1,
      attempts: 3,
      retryAt: NOW + 2,
      category: 'images',
      error: { code: 'origin-gone', message: 'gone', detail: '' },
      digest: { algorithm: 'sha256', hex: 'ab'.repeat(32) },
    });
    store.put(full);
    store.put(record(2));
    // JSON does not keep undefined values.
    const plain = (value: unknown) => JSON.parse(JSON.stringify(value));
    expect(plain(store.get(full.gid))).toEqual(plain(full));
    expect(plain(store.get(record(2).gid))).toEqual(plain(record(2)));
    store.put({ ...full, name: 'other' });
    expect(store.get(full.gid)?.name).toBe('other');
    expect(store.history({}, page).total).toBe(1);
  });

  test('that are unfinished come back after a restart, each with its rank', () => {
    let store = new DownloadStore(db);
    for (const one of [record(1), finished(2), record(3, { state: 'paused', rank: 0.5 })]) {
      store.put(one);
    }
    db.close();
    db = openDatabase(path, NOW).db;
    store = new DownloadStore(db);
    const records = store.unfinished();
    expect(records.map(({ state, rank }) => [state, rank])).toEqual([
      ['queued', 1],
      ['paused', 0.5],
    ]);
  });

  test('are found by the beginning of their gid', () => {
    const store = new DownloadStore(db);
    store.put(record(1, { gid: 'abcd000000000000' }));
    store.put(record(2, { gid: 'abce000000000000' }));
    expect(store.startingWith('abcd')).toEqual(['abcd000000000000']);
    expect(store.startingWith('abc')).toHaveLength(2);
    expect(store.startingWith('f')).toEqual([]);
  });

  test('an unreadable row is left out, and no other row', () => {
    const store = new DownloadStore(db);
    store.put(record(1));
    store.put(record(2));
    db.exec(`UPDATE downloads SET request = '{' WHERE gid = '${record(1).gid}'`);
    expect(gids(store.unfinished())).toEqual([2]);
  });

  test('a transaction that fails leaves nothing behind', () => {
    const store = new DownloadStore(db);
    const work = () =>
      store.atOnce(() => {
        store.put(record(1));
        store.atOnce(() => store.put(record(2)));
        throw new Error('no');
      });
    expect(work).toThrow('no');
    expect(store.unfinished()).toEqual([]);
  });
});

describe('history', () => {
  test('pages from the newest, or from the oldest', () => {
    const store = new DownloadStore(db);
    for (let i = 1; i <= 5; i++) store.put(finished(i, i === 5 ? { state: 'removed' } : {}));
    store.put(record(6));
    const newest = store.history({}, { offset: 1, limit: 2 });
    expect(newest.total).toBe(5);
    expect(gids(newest.records)).toEqual([4, 3]);
    const oldest = store.history({}, { offset: 3, limit: 9, oldestFirst: true });
    expect(gids(oldest.records)).toEqual([4, 5]);
    const removed = store.history({ states: ['removed'] }, page);
    expect(gids(removed.records)).toEqual([5]);
    expect(gids(store.history({ host: 'host1.example' }, page).records)).toEqual([4, 1]);
    expect(store.history({ states: [] }, page).total).toBe(0);
  });

  test('is emptied by state and time', () => {
    const store = new DownloadStore(db);
    for (let i = 1; i <= 4; i++) store.put(finished(i, i > 2 ? { state: 'error' } : {}));
    store.put(record(5));
    expect(store.deleteFinished(['error'], NOW + 4).length).toBe(1);
    expect(store.deleteFinished(undefined, undefined).length).toBe(3);
    expect(store.unfinished()).toHaveLength(1);
    expect(store.history({ text: 'file' }, page).total).toBe(0);
  });
});

describe('search', () => {
  const names = [
    'debian-13.1-netinst.iso',
    'Ubuntu 26.04 Größe.iso',
    '\u4e2d\u6587\u6559\u7a0b.mkv',
    'a_b%c.bin',
  ];

  test.each([
    ['netinst', [0]],
    ['NETI', [0]],
    ['inst debian', [0]],
    ['iso', [1, 0]],
    ['13 iso', [0]],
    ['6', [1]],
    ['GRÖSSE', []],
    ['gröSSe', []],
    ['größe', [1]],
    ['\u4e2d\u6587', [2]],
    ['\u6587\u6559\u7a0b', [2]],
    ['_b%', [3]],
    ['%', [3]],
    ['"', []],
    ['debian OR ubuntu', []],
    ['name:debian', []],
    ['*', []],
    ['images', [1, 0]],
    ['origin-gone', [3]],
    ['', [3, 2, 1, 0]],
  ])('"%s" finds %j', (text, found) => {
    const store = new DownloadStore(db);
    names.forEach((name, i) => {
      store.put(
        finished(i, {
          name,
          request: { ...record(i).request, urls: ['https://h.example/x'] },
          category: i < 2 ? 'images' : undefined,
          error: i === 3 ? { code: 'origin-gone', message: '', detail: '' } : undefined,
        }),
      );
    });
    expect(gids(store.history({ text }, page).records)).toEqual(found);
  });

  test('finds the new name and not the old one', () => {
    const store = new DownloadStore(db);
    store.put(finished(1, { name: 'before.iso' }));
    store.put(finished(1, { name: 'after.iso' }));
    expect(store.history({ text: 'before' }, page).total).toBe(0);
    expect(store.history({ text: 'after' }, page).total).toBe(1);
    store.delete(finished(1).gid);
    expect(store.history({ text: 'after' }, page).total).toBe(0);
  });

  test('uses its indexes', () => {
    const plan = (sql: string) =>
      db
        .prepare(`EXPLAIN QUERY PLAN ${sql}`)
        .all()
        .map(({ detail }) => String(detail))
        .join('\n');
    const history = 'SELECT * FROM downloads WHERE finished_at IS NOT NULL';
    const paged = plan(`${history} ORDER BY finished_at DESC, id DESC LIMIT 10`);
    expect(paged).toMatch(/USING INDEX finished/);
    expect(paged).not.toMatch(/B-TREE/);
    const urgent = `SELECT gid, CASE state WHEN 'error' THEN 2000000000000000
      ELSE 3000000000000000 END - created_at AS value FROM downloads INDEXED BY urgent
      WHERE finished_at IS NOT NULL AND state IN ('complete', 'error')
      ORDER BY value ASC, id ASC LIMIT 500 OFFSET 0`;
    expect(plan(urgent)).toMatch(/USING INDEX urgent/);
    expect(plan(urgent)).not.toMatch(/B-TREE/);
    const matching = `${history} AND id IN (SELECT rowid FROM search WHERE search MATCH '"abc"')`;
    expect(plan(matching)).toMatch(/SCAN search VIRTUAL TABLE INDEX/);
    expect(plan('SELECT * FROM downloads WHERE finished_at IS NULL')).toMatch(/INDEX unfinished/);
  });
});

describe('the files of a torrent', () => {
  const part = { hex: 'a', bytes: 9, at: 0, start: 0, end: 3, before: 0, after: 0 };
  const sharing = (number: number, more: Partial<DownloadRecord['options']> = {}) => {
    const base = finished(number);
    const shared = ['x:1', 'x:2'].map((key) => ({ ...part, key }));
    return { ...base, state: 'complete', options: { ...base.options, shared, ...more } } as const;
  };

  test('are found by the pieces that they share, until they are removed', () => {
    const store = new DownloadStore(db);
    for (const number of [1, 2]) store.put(sharing(number));
    store.put(finished(3));
    expect(store.withShared('x:2', 9)).toEqual([sharing(2).gid, sharing(1).gid]);
    expect(store.withShared('x:3', 9)).toEqual([]);
    store.delete(sharing(2).gid);
    expect(store.withShared('x:1', 9)).toEqual([sharing(1).gid]);
  });

  test('are checked until something is known of each such piece', () => {
    const store = new DownloadStore(db);
    store.put(sharing(1));
    store.put(sharing(2, { sharedSaid: ['x:1'] }));
    store.put(sharing(3, { sharedSaid: ['x:1', 'x:2'] }));
    store.put({ ...sharing(4), state: 'error' });
    store.put(finished(5));
    expect(store.sharedOpen()).toEqual([sharing(1).gid, sharing(2).gid]);
  });
});

describe('descriptions', () => {
  const complete = (number: number, more: Partial<DownloadRecord['options']> = {}) => {
    const base = finished(number);
    return { ...base, state: 'complete', options: { ...base.options, ...more } } as const;
  };

  test('are followed until that is done', () => {
    const store = new DownloadStore(db);
    store.put(complete(1, { follows: 'keep' }));
    store.put(complete(2, { follows: 'remove', follow: 'mem' }));
    store.put(complete(3, { follows: 'done' }));
    store.put(complete(4));
    store.put({ ...complete(5, { follows: 'keep' }), state: 'error' });
    expect(store.followingOpen()).toEqual([complete(1).gid, complete(2).gid]);
  });

  test('are known by the files that they have led to', () => {
    const store = new DownloadStore(db);
    const { gid } = complete(1);
    store.put(complete(1, { follow: { torrent: true, metalink: 'mem' }, follows: 'done' }));
    for (const number of [2, 3]) store.put(complete(number, { following: gid }));
    expect(store.followedBy(gid)).toEqual([complete(2).gid, complete(3).gid]);
    expect(store.get(complete(2).gid)?.options.following).toBe(gid);
    expect(store.followedBy(complete(2).gid)).toEqual([]);
  });
});

describe('the small stores', () => {
  test('settings and hosts are kept', () => {
    const settings = new SettingStore(db);
    settings.set('a', { b: [1] });
    settings.set('a', { b: [2] });
    expect(settings.get('a')).toEqual({ b: [2] });
    expect(settings.get('none')).toBeUndefined();
    db.exec(`INSERT INTO settings VALUES ('bad', '{')`);
    expect(settings.get('bad')).toBeUndefined();
    const hosts = new HostStore(db);
    const entry = { host: 'h', limit: 3, refusedAt: NOW, changedAt: NOW, restsUntil: 0 };
    hosts.put({ ...entry, limit: 4 });
    hosts.put(entry);
    expect(hosts.all()).toEqual([entry]);
    hosts.replace([]);
    expect(hosts.all()).toEqual([]);
  });
});
