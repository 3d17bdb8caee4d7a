import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { MAX_TRASH_DAYS } from '@millrace/shared/download/queue/trash';
import { FakeDaemon, LENGTH, until } from '../../testing/fake-daemon.ts';
import { TRASH_FOLDER } from '../removal/trash.ts';
import { Settings } from '../settings/settings.ts';
import { openDatabase } from '../store/database.ts';
import { DownloadStore } from '../store/download-store.ts';
import { SettingStore } from '../store/small-stores.ts';
import { TrashStore } from '../store/trash-store.ts';
import { listRecords } from '../views/listing.ts';

const DAY = 24 * 3600_000;
const NEVER = new AbortController().signal;
let daemon: FakeDaemon;
beforeEach(() => {
  daemon = new FakeDaemon();
});
afterEach(() => daemon.remove());

const remove = (gids: readonly string[], more: object = {}) =>
  daemon.manager.remover.remove({
    ...{ gids, deletePartial: true, deleteFile: true, forget: true, now: false },
    ...more,
  });

/** Adds a download and completes it, with its file. */
async function complete(name: string): Promise<{ gid: string; path: string }> {
  const { gid, run } = await daemon.run(name, { file: `${name}.bin` });
  writeFileSync(run.path, 'x'.repeat(LENGTH));
  await run.complete();
  await until(() => daemon.manager.get(gid).state === 'complete');
  return { gid, path: run.path };
}

/** Puts three complete downloads into the trash, with their files; the second is damaged. */
async function damagedTrash(damage: string): Promise<{ gid: string; path: string }[]> {
  const all = [await complete('one'), await complete('two'), await complete('three')];
  for (const { gid } of all) await remove([gid]);
  await until(() => all.every(({ gid }) => daemon.manager.trash.store.get(gid)?.moved === true));
  daemon.db.exec(`UPDATE trash SET ${damage} WHERE gid = '${all[1]?.gid}'`);
  return all.map((one) => ({ gid: one.gid, path: join(dirname(one.path), TRASH_FOLDER, one.gid) }));
}

test('the trash can be listed, restored and emptied with a damaged entry in it', async () => {
  const [one, two, three] = await damagedTrash(`record = '{'`);
  const { trash } = daemon.manager;
  expect(trash.store.page(0, 9).map(({ gid }) => gid)).toEqual([three?.gid, one?.gid]);
  expect(await daemon.manager.remover.restore([one?.gid as string, two?.gid as string])).toEqual([
    one?.gid,
  ]);
  expect(daemon.notes).toEqual([expect.stringContaining(two?.gid as string)]);
  // The damaged entry's data go with it: their path can still be read.
  expect(await trash.delete(trash.store.gids())).toMatchObject({ count: 2 });
  expect(trash.store.gids()).toEqual([]);
  expect([two, three].some((gone) => existsSync(gone?.path as string))).toBe(false);
});

test('only the user deletes an entry that the trash cannot read', async () => {
  const [one, two, three] = await damagedTrash(`record = 'null'`);
  daemon.now += 400 * DAY;
  daemon.manager.trash.sweep();
  await until(() => daemon.manager.trash.store.gids().length === 1);
  expect([one, two, three].map((each) => existsSync(each?.path as string))).toEqual([
    false,
    true,
    false,
  ]);
  expect(daemon.notes).toHaveLength(1);
});

test('data whose path cannot be read stay when the trash is emptied', async () => {
  const [, two] = await damagedTrash(`leftover = '{"path":1}'`);
  const { trash } = daemon.manager;
  expect(await trash.delete(trash.store.gids())).toMatchObject({ count: 3 });
  expect(existsSync(two?.path as string)).toBe(true);
  expect(daemon.notes).toEqual([expect.stringContaining('leftover')]);
});

test('a daemon with damaged rows starts, lists the intact ones and tells its listeners', async () => {
  const gids: string[] = [];
  for (const name of ['a', 'b', 'c', 'd']) gids.push((await complete(name)).gid);
  const paused = ['e', 'f'].map((name) => daemon.add(name, { paused: true }));
  await daemon.shut();
  const { db } = openDatabase(join(daemon.folder, 'downloads.db'), daemon.now);
  db.exec(`UPDATE downloads SET request = '' WHERE gid IN ('${gids[1]}', '${paused[0]}')`);
  db.close();
  daemon.open();
  const { manager } = daemon;
  const forgotten: unknown[] = [];
  manager.listen((event) => forgotten.push(event));
  await manager.checkKept(NEVER);
  expect(forgotten).toHaveLength(1);
  expect(forgotten[0]).toMatchObject({ gids: expect.arrayContaining([gids[1]]) });
  for (const sort of ['queue', 'name', 'size'] as const) {
    const { total, records } = listRecords(manager, { sort, offset: 0, limit: 9 });
    expect([total, records.length]).toEqual([4, 4]);
  }
  expect(daemon.notes).toHaveLength(2);
  expect(() => manager.get(gids[1] as string)).toThrow(/no such download/i);
  // No other record can take the gid of a damaged one.
  const again = { urls: ['http://a.example/x'], gid: paused[0] as string };
  expect(() => manager.add(again)).toThrow(/is there already/);
  // A caller that names the gid can remove the damaged row for good, but not keep it listed.
  expect(await remove([gids[1] as string])).toEqual({ gids: [gids[1]] });
  expect(manager.store.has(gids[1] as string)).toBe(false);
  await expect(remove([paused[0] as string], { forget: false })).rejects.toThrow(
    /no such download/i,
  );
});

test('an aborted check reads no more rows', async () => {
  const looked: number[] = [];
  const abort = new AbortController();
  const table = {
    damaged: ['x'],
    checkSome: (after: number) => {
      looked.push(after);
      if (looked.length === 2) abort.abort();
      return after + 1;
    },
  };
  const { checkKept } = await import('./check-kept.ts');
  await checkKept([table, table], () => looked.push(-1), abort.signal);
  expect(looked).toEqual([0, 1]);
});

test('a damaged entry in a list of settings costs no other, and never makes limits delete more', () => {
  const store = new SettingStore(daemon.db);
  const edge = { url: 'http://a.example/', name: '', enabled: true };
  store.set('edges', [edge, { url: 7 }, edge]);
  store.set('app', { trash: { days: '7' }, language: 'de' });
  const damaged: string[] = [];
  const told = new SettingStore(daemon.db, (_, name, why) => damaged.push(`${name}: ${why}`));
  const settings = new Settings(told);
  expect(settings.edges).toEqual([edge, edge]);
  expect(settings.app.language).toBe('de');
  expect(settings.app.trash.days).toBe(MAX_TRASH_DAYS);
  expect(damaged).toEqual(['edges: 1 of its entries', 'app: trash']);
  daemon.db.exec(`UPDATE settings SET value = '{' WHERE name = 'app'`);
  expect(new Settings(new SettingStore(daemon.db)).app.trash.days).toBe(MAX_TRASH_DAYS);
  daemon.db.exec(`DELETE FROM settings WHERE name = 'app'`);
  expect(new Settings(new SettingStore(daemon.db)).app.trash.days).toBe(7);
});

test('the trash and the settings survive the repair of a damaged database', async () => {
  const { gid } = await complete('done');
  await complete('kept');
  await remove([gid]);
  await until(() => daemon.manager.trash.store.get(gid)?.moved === true);
  daemon.manager.setLimits({ concurrent: 9 });
  await daemon.shut();
  const path = join(daemon.folder, 'downloads.db');
  const before = openDatabase(path, daemon.now).db;
  // A number outside JavaScript's range must not end the copying.
  before.exec(`UPDATE downloads SET length = 9223372036854775807`);
  before.exec(`CREATE TABLE filler (x); INSERT INTO filler VALUES (zeroblob(100000))`);
  before.close();
  // The last pages belong to the filler.
  const bytes = readFileSync(path);
  for (let at = bytes.length - 10 * 4096; at < bytes.length; at++) bytes[at] = 0x5a;
  writeFileSync(path, bytes);
  const opened = openDatabase(path, daemon.now);
  expect(opened.note).toContain('1 downloads could still be read');
  expect(new TrashStore(opened.db).get(gid)?.moved).toBe(true);
  expect(new SettingStore(opened.db).get('limits')).toEqual({ concurrent: 9 });
  expect(new DownloadStore(opened.db).unfinished()).toEqual([]);
  opened.db.close();
  mkdirSync(daemon.folder, { recursive: true });
  daemon.open();
});
