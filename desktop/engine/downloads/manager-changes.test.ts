import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { ManagerStage, MINUTE, T0 } from '../../testing/manager-stage.ts';

let stage: ManagerStage;

beforeEach(() => {
  stage = new ManagerStage();
});
afterEach(() => stage.clear());

describe('changes', () => {
  test('of limit and priority apply at once, others by a restart', async () => {
    const gid = await stage.add();
    stage.manager.changes.change(gid, { limit: 500, priority: 3 });
    stage.manager.changes.change(gid, { limit: null });
    expect(stage.last().limits).toEqual([500, undefined]);
    expect(stage.manager.get(gid)).toMatchObject({ priority: 3, request: { limit: undefined } });
    stage.manager.changes.change(gid, { headers: { 'X-New': '1' } });
    await stage.settled();
    expect(stage.runs).toHaveLength(2);
    expect(stage.last().request.headers).toEqual({ 'x-new': '1' });
    expect(() => stage.manager.changes.change(gid, { file: '../x' })).toThrow(/below the folder/);
    expect(() => stage.manager.changes.change(gid, { category: 'none' })).toThrow(/no "none"/);
  });

  test('of folder or name move the stored bytes along', async () => {
    const gid = await stage.add();
    stage.last().begin();
    stage.manager.changes.change(gid, { dir: 'other' });
    await stage.settled();
    stage.last().begin();
    stage.manager.changes.change(gid, { file: 'y.bin' });
    await stage.settled();
    expect(stage.moved).toEqual([
      [join(stage.folder, 'x.bin'), join(stage.folder, 'other', 'x.bin')],
      [join(stage.folder, 'other', 'x.bin'), join(stage.folder, 'other', 'y.bin')],
    ]);
    expect(stage.last().request).toMatchObject({ dir: join(stage.folder, 'other'), file: 'y.bin' });
  });

  test('of the category change the folder too, if nothing has begun', async () => {
    stage.manager.settings.categories = [
      { name: 'films', folder: 'films', extensions: ['mkv'] },
      { name: 'notes', folder: 'notes', extensions: ['txt'] },
    ];
    const url = 'http://a.example/film.mkv';
    const [waits, own] = ['', 'own'].map(
      (dir) => stage.manager.add({ urls: [url], paused: true, ...(dir === '' ? {} : { dir }) }).gid,
    ) as [string, string];
    stage.manager.changes.change(waits, { category: 'notes' });
    expect(stage.manager.get(waits)).toMatchObject({
      category: 'notes',
      request: { dir: join(stage.folder, 'notes') },
    });
    stage.manager.changes.change(own, { category: null });
    expect(stage.manager.get(own).category).toBeUndefined();
    expect(stage.manager.get(own).request.dir).toBe(join(stage.folder, 'own'));

    const { gid: begun } = stage.manager.add({ urls: [url] });
    await stage.settled();
    stage.last().begin();
    const runsBefore = stage.runs.length;
    stage.manager.changes.change(begun, { category: 'notes' });
    await stage.settled();
    expect(stage.manager.get(begun)).toMatchObject({
      category: 'notes',
      request: { dir: join(stage.folder, 'films') },
    });
    expect(stage.runs).toHaveLength(runsBefore);
    await stage.last().complete();
    stage.manager.changes.change(begun, { category: 'films' });
    expect(stage.manager.get(begun)).toMatchObject({ category: 'films', state: 'complete' });
    expect(() => stage.manager.changes.change(begun, { category: 'films', priority: 1 })).toThrow(
      /finished/,
    );
  });

  test('of the older file restart the download, and need a path and nothing else', async () => {
    const gid = await stage.add({ older: { path: 'old.bin' } });
    const older = { path: join(stage.folder, 'old.bin'), beside: true };
    expect(stage.last().request.older).toEqual(older);
    const zsync = 'http://a.example/x.zsync';
    stage.manager.changes.change(gid, { older: { path: '/else/old.bin', zsync } });
    await stage.settled();
    expect(stage.last().request.older).toEqual({ path: '/else/old.bin', beside: true, zsync });
    stage.manager.changes.change(gid, { older: null });
    await stage.settled();
    expect(stage.last().request.older).toBeUndefined();
    const repairs = { path: 'old.bin', repairs: true };
    expect(() => stage.manager.changes.change(gid, { older: repairs } as never)).toThrow(/older/);
  });

  test('of URLs: additional ones go to the run, others need a new run', async () => {
    const gid = await stage.add();
    const [url] = stage.manager.get(gid).request.urls as [string];
    stage.manager.changes.setUrls(gid, [url, 'http://mirror.example/x']);
    expect(stage.last().urls).toEqual(['http://mirror.example/x']);
    stage.manager.changes.setUrls(gid, ['http://mirror.example/x']);
    await stage.settled();
    expect(stage.last().request.urls).toEqual(['http://mirror.example/x']);
    expect(() => stage.manager.changes.setUrls(gid, [])).toThrow(/none would be left/);
  });

  test('of the host leave out log-ins for the earlier one', async () => {
    const login = { user: 'me', password: 'secret' };
    const headers = { cookie: 'c=1', accept: '*/*' };
    const gid = await stage.add({ headers, login });
    stage.manager.changes.replaceUrl(gid, 'http://a.example/other');
    await stage.settled();
    expect(stage.last().request).toMatchObject({ headers, login });
    stage.manager.changes.replaceUrl(gid, 'http://b.example/x.bin');
    await stage.settled();
    expect(stage.last().request).toMatchObject({ headers: { accept: '*/*' }, login: undefined });
    expect(stage.events).toContain('note');
    stage.manager.changes.change(gid, { login });
    await stage.settled();
    stage.manager.changes.setUrls(gid, ['http://c.example/x.bin']);
    await stage.settled();
    expect(stage.last().request.login).toBeUndefined();
  });

  test('of the host count against the limit of the new host', async () => {
    stage.manager.setLimits({ concurrent: 5, perHost: 1 });
    const first = await stage.add();
    const second = await stage.add({ urls: ['http://a.example/y.bin'] });
    expect(stage.manager.get(second).state).toBe('queued');
    stage.manager.changes.replaceUrl(second, 'http://b.example/y.bin');
    await stage.settled();
    expect([first, second].map((gid) => stage.manager.get(gid).state)).toEqual([
      'active',
      'active',
    ]);
  });

  test('only the downloaded file is deleted', async () => {
    const path = join(stage.folder, 'x.bin');
    const gid = await stage.add();
    stage.last().begin();
    await stage.last().complete();
    writeFileSync(path, 'something else');
    const what = { deletePartial: false, deleteFile: true, forget: false, now: true };
    const remove = () => stage.manager.remover.remove({ gids: [gid], ...what });
    await expect(remove()).rejects.toMatchObject({ code: 'wrong-state' });
    expect(readFileSync(path, 'utf8')).toBe('something else');
    writeFileSync(path, 'x'.repeat(100));
    await remove();
    expect(existsSync(path)).toBe(false);
    await remove();
  });

  test('a log-in in a new link is stored apart from the URL', async () => {
    const gid = await stage.add();
    stage.manager.changes.replaceUrl(gid, 'http://me:secret@b.example/x.bin');
    expect(stage.manager.get(gid).request).toMatchObject({
      urls: ['http://b.example/x.bin'],
      login: { user: 'me', password: 'secret' },
    });
    const urls = ['http://b.example/x.bin', 'http://me:secret@c.example/x.bin'];
    expect(() => stage.manager.changes.setUrls(gid, urls)).toThrow(/user name or password/);
    stage.manager.changes.change(gid, { login: null });
    expect(stage.manager.get(gid).request.login).toBeUndefined();
  });

  test('a new link continues the file that the old one began', async () => {
    const gid = await stage.add({ urls: ['http://a.example/x.bin?key=old'] });
    stage.last().begin();
    await stage.last().fail('origin-denied');
    expect(stage.manager.get(gid).state).toBe('error');
    stage.manager.changes.replaceUrl(gid, 'http://a.example/other?key=new');
    await stage.settled();
    expect(stage.last().request).toMatchObject({
      urls: ['http://a.example/other?key=new'],
      file: 'x.bin',
    });
    await stage.last().complete();
    expect(() => stage.manager.changes.replaceUrl(gid, 'http://a.example/')).toThrow(
      /it is complete/,
    );
  });
});

describe('limits for all downloads', () => {
  test('a host that asks for a pause gets it, and other hosts go ahead', async () => {
    stage.manager.setLimits({ concurrent: 1 });
    stage.manager.hosts.onRefused('a.example', 1, 30_000);
    const gid = await stage.add();
    expect(stage.manager.get(gid)).toMatchObject({
      state: 'waiting',
      attempts: 0,
      retryAt: T0 + 30_000,
    });
    const other = await stage.add({ urls: ['http://b.example/y'] });
    expect(stage.manager.get(other).state).toBe('active');
    await stage.last().complete();
    await stage.later(30_000);
    expect(stage.manager.get(gid).state).toBe('active');
  });

  test('the rate is the lower of the limit and the schedule', async () => {
    const days = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const;
    const week = { days, fromMinute: 0, toMinute: 0 };
    stage.manager.setLimits({ concurrent: 5, limit: 1000 });
    expect(stage.rate.rate).toBe(1000);
    stage.manager.settings.windows = [{ ...week, effect: 300 }];
    stage.manager.settingsChanged();
    expect(stage.rate.rate).toBe(300);
    const gid = await stage.add();
    stage.manager.settings.windows = [{ ...week, effect: 'pause' }];
    stage.manager.settingsChanged();
    expect(stage.manager.get(gid).state).toBe('queued');
    expect(stage.rate.rate).toBe(1000);
    stage.manager.settings.windows = [];
    stage.manager.setLimits({ concurrent: 5 });
    expect(stage.rate.rate).toBeUndefined();
    await stage.settled();
    expect(stage.manager.get(gid).state).toBe('active');
  });

  test('a gid, or an unambiguous beginning of it, names a download', async () => {
    await stage.add({ gid: 'abcd000000000000' });
    await stage.add({ gid: 'abce000000000000' });
    expect(stage.manager.get('abcd').gid).toBe('abcd000000000000');
    expect(() => stage.manager.get('abc')).toThrow(/beginning of several ids/);
    expect(() => stage.manager.get('f')).toThrow(/no such download/);
    await expect(stage.add({ gid: 'abcd000000000000' })).rejects.toThrow(/there already/);
    expect(stage.manager.unfinished()).toHaveLength(2);
  });

  test('several downloads are placed before another, or at the end, in the given order', async () => {
    stage.manager.setLimits({ concurrent: 1 });
    await stage.add({ gid: 'ffff000000000000' });
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((letter) => letter.repeat(16)) as [
      string,
      string,
      string,
      string,
    ];
    for (const gid of [a, b, c, d]) await stage.add({ gid });
    const line = () => stage.manager.queue.line.map(({ gid }) => gid[0]).join('');
    expect(stage.manager.line.place([d, b], a)).toEqual([d, b]);
    expect(line()).toBe('dbac');
    stage.manager.line.place([d, a], c);
    expect(line()).toBe('bdac');
    stage.manager.line.place([b, d], undefined);
    expect(line()).toBe('acbd');
    expect(stage.manager.line.place(['ffff000000000000', a], a)).toEqual([]);
    expect(line()).toBe('acbd');
  });

  test('a download with a start time starts then, even after a restart of the daemon', async () => {
    const startAt = T0 + 3 * 24 * 60 * MINUTE;
    const gid = await stage.add({ startAt });
    expect(stage.manager.get(gid).state).toBe('queued');
    await stage.shut();
    stage.open();
    expect(stage.manager.queue.get(gid)).toMatchObject({ held: 'start', startAt });
    stage.manager.changes.change(gid, { startAt: null });
    await stage.settled();
    expect(stage.manager.get(gid).state).toBe('active');
  });

  test('a limit set while a run is about to begin applies to that run', async () => {
    const gid = await stage.add();
    stage.manager.line.pause(gid);
    stage.manager.line.resume(gid);
    stage.manager.changes.change(gid, { limit: 123 });
    await stage.settled();
    expect(stage.last().limits).toEqual([123]);
  });

  test('if one of several downloads is invalid, none is added', async () => {
    const asked = [{ urls: ['http://a.example/1'] }, { urls: ['ftp://a.example/2'] }];
    expect(() => stage.manager.addAll(asked)).toThrow(/cannot be fetched/);
    expect(stage.manager.unfinished()).toEqual([]);
  });
});

describe('a repair', () => {
  const digest = { algorithm: 'sha256', hex: 'a'.repeat(64) } as const;

  test('takes what is right from the file, and has to have its digest', async () => {
    const gid = await stage.add();
    stage.last().begin();
    expect(() => stage.manager.changes.repair(gid)).toThrow(
      expect.objectContaining({ code: 'wrong-state' }),
    );
    await stage.last().complete({ digest });
    stage.manager.changes.repair(gid);
    await stage.settled();
    expect(stage.last().request).toMatchObject({
      file: 'x.bin',
      overwrite: true,
      digests: [digest],
      older: { path: join(stage.folder, 'x.bin'), beside: true, repairs: true },
    });
    stage.last().begin();
    await stage.last().complete({ digest });
    // The right to replace the file has ended with the repair.
    expect(stage.manager.get(gid)).toMatchObject({ state: 'complete', digest });
    expect(stage.manager.get(gid).request).toMatchObject({ overwrite: false });
    expect(stage.manager.get(gid).request.older).toBeUndefined();
  });

  test('that has failed is made again; of other failed downloads nothing is left to repair', async () => {
    const gid = await stage.add();
    await stage.last().fail('checksum-mismatch');
    expect(() => stage.manager.changes.repair(gid)).toThrow(
      expect.objectContaining({ code: 'wrong-state' }),
    );
    stage.manager.line.retry(gid);
    await stage.settled();
    stage.last().begin();
    await stage.last().complete();
    stage.manager.changes.repair(gid);
    await stage.settled();
    await stage.last().fail('bad-option');
    expect(stage.manager.get(gid).state).toBe('error');
    stage.manager.changes.repair(gid);
    await stage.settled();
    expect(stage.last().request).toMatchObject({ older: { repairs: true } });
  });

  test('never replaces the file that an imported list calls its own', () => {
    const ended = { state: 'complete', finishedAt: T0, createdAt: T0 } as const;
    const path = join(stage.folder, 'other.txt');
    const { gid } = stage.manager.addFinished(
      { urls: ['http://a.example/x.bin'] },
      { ...ended, path },
    );
    expect(() => stage.manager.changes.repair(gid)).toThrow(
      expect.objectContaining({ code: 'wrong-state' }),
    );
  });
});
