import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type ErrorCode, MillraceError } from '@millrace/shared/base/errors';
import type { DownloadRequest } from '@millrace/shared/download/request';
import { openDatabase } from '../store/database.ts';
import { DownloadStore } from '../store/download-store.ts';
import { HostStore, SettingStore } from '../store/small-stores.ts';
import type { DownloadFactory, Run, RunContext, RunProgress, RunResult } from './contract.ts';
import { HostMemory } from './host-memory.ts';
import type { ManagerEvent } from './ledger.ts';
import { Manager } from './manager.ts';
import { Settings } from './settings.ts';
import { SharedRate } from './shared-rate.ts';

const T0 = Date.UTC(2026, 10, 21, 12);
const MINUTE = 60_000;

/** A download that does what the test says. */
class FakeRun implements Run {
  readonly request: DownloadRequest;
  readonly context: RunContext;
  readonly described = new Promise<never>(() => {});
  readonly limits: (number | undefined)[] = [];
  readonly urls: string[] = [];
  readonly #end = Promise.withResolvers<RunResult>();
  storedBytes = 0;
  /** True: it has a partial file, of which it has not told anybody. */
  hasFile = false;
  /** True: the run takes its time to end when it is stopped. */
  lingers = false;

  constructor(request: DownloadRequest, context: RunContext) {
    this.request = request;
    this.context = context;
    context.signal.addEventListener('abort', () => {
      if (!this.lingers) this.fail('interrupted');
    });
  }

  get path(): string {
    return join(this.request.dir, this.request.file ?? 'x.bin');
  }

  begin(): void {
    this.context.onEvent({
      kind: 'start',
      path: this.path,
      length: 100,
      resumedBytes: 0,
      via: 'x',
    });
  }

  complete(): Promise<void> {
    const bytes = 100;
    this.#end.resolve({ path: this.path, bytes, receivedBytes: bytes, resumedBytes: 0 });
    return settled();
  }

  fail(code: ErrorCode, detail = '', retryAfterMs?: number): Promise<void> {
    this.#end.reject(new MillraceError(code, detail, { retryAfterMs }));
    return settled();
  }

  run(): Promise<RunResult> {
    return this.#end.promise;
  }

  progress(): RunProgress {
    const { storedBytes } = this;
    return {
      state: 'running',
      path: this.hasFile ? this.path : undefined,
      storedBytes,
      receivedBytes: storedBytes,
      bytesPerSecond: 0,
      sources: [],
      digests: [],
      strip: () => [],
      brought: () => [],
    };
  }

  setLimit(bytesPerSecond: number | undefined): void {
    this.limits.push(bytesPerSecond);
  }

  addUrl(url: string): void {
    this.urls.push(url);
  }

  prefer(): void {}

  read(): Promise<number> {
    return Promise.resolve(0);
  }
}

let folder: string;
let db: DatabaseSync;
let now: number;
let runs: FakeRun[];
let removed: string[];
let moved: string[][];
/** What deleting a partial file waits for. */
let deletion: Promise<void>;
let events: string[];
let rate: SharedRate;
let manager: Manager;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-test-'));
  now = T0;
  open();
});
afterEach(async () => {
  await shut();
  rmSync(folder, { recursive: true, force: true });
});

function open(): void {
  db = openDatabase(join(folder, 'downloads.db'), now).db;
  runs = [];
  removed = [];
  moved = [];
  deletion = Promise.resolve();
  events = [];
  rate = new SharedRate(() => now);
  const createDownload: DownloadFactory = Object.assign(
    (request: DownloadRequest, context: RunContext) => {
      const run = new FakeRun(request, context);
      runs.push(run);
      return run;
    },
    {
      async removePartial(path: string) {
        await deletion;
        removed.push(path);
      },
      async movePartial(path: string, to: string) {
        moved.push([path, to]);
      },
    },
  );
  const settingStore = new SettingStore(db);
  manager = new Manager({
    store: new DownloadStore(db),
    settingStore,
    settings: new Settings(settingStore),
    hosts: new HostMemory(new HostStore(db), () => now),
    rate,
    createDownload,
    dir: folder,
    now: () => now,
    random: () => 0.5,
  });
  manager.listen((event: ManagerEvent) => {
    if (event.kind === 'changed' || event.kind === 'stand') return;
    if ('gid' in event) events.push(event.kind);
  });
  manager.start();
}

async function shut(): Promise<void> {
  for (const run of runs) run.lingers = false;
  await manager.close();
  db.close();
}

/** Lets everything that has been decided happen. */
async function settled(): Promise<void> {
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  for (let i = 0; i < 5; i++) await turn();
  const lingering = () => runs.some((run) => run.lingers && run.context.signal.aborted);
  const starting = () =>
    manager.queue.active.some(({ gid }) => manager.running(gid) === undefined) && !lingering();
  while (starting()) await turn();
}

async function add(part: object = {}): Promise<string> {
  const { gid } = manager.add({ urls: ['http://a.example/x.bin'], ...part });
  await settled();
  return gid;
}

/** Time passes, and the timers with it. */
async function later(ms: number): Promise<void> {
  now += ms;
  manager.settingsChanged();
  await settled();
}

const last = () => runs.at(-1) as FakeRun;

describe('a download that ends', () => {
  test('complete is in the history, and the next begins', async () => {
    manager.setLimits({ concurrent: 1 });
    const first = await add();
    const second = await add({ urls: ['http://a.example/y.bin'] });
    expect(runs).toHaveLength(1);
    last().begin();
    await last().complete();
    expect(manager.get(first)).toMatchObject({
      state: 'complete',
      finishedAt: T0,
      length: 100,
      path: join(folder, 'x.bin'),
    });
    expect(manager.get(second).state).toBe('active');
    expect(events).toEqual(['started', 'completed', 'started']);
  });

  test('in a failure that stays is not tried again', async () => {
    const gid = await add();
    await last().fail('origin-not-found', 'it answered 404');
    expect(manager.get(gid)).toMatchObject({
      state: 'error',
      error: { code: 'origin-not-found', detail: 'it answered 404' },
    });
    expect(events).toEqual(['started', 'failed']);
    expect(manager.retry(gid)).toBe(true);
    await settled();
    expect(runs).toHaveLength(2);
  });

  test('in a failure that may pass is tried again, later each time, and not for ever', async () => {
    const gid = await add({ maxTries: 3 });
    await last().fail('origin-error');
    expect(manager.get(gid)).toMatchObject({ state: 'waiting', retryAt: T0 + 5000, attempts: 1 });
    await later(4999);
    expect(runs).toHaveLength(1);
    await later(1);
    expect(runs).toHaveLength(2);
    await last().fail('origin-busy', '', 5 * MINUTE);
    expect(manager.get(gid).retryAt).toBe(now + 5 * MINUTE);
    await later(5 * MINUTE);
    await last().fail('origin-error');
    expect(manager.get(gid).state).toBe('error');
  });

  test('for want of room is tried until there is some', async () => {
    const gid = await add({ maxTries: 1 });
    for (let i = 0; i < 12; i++) {
      await last().fail('disk-full', folder);
      expect(manager.get(gid)).toMatchObject({ state: 'waiting', error: { code: 'disk-full' } });
      await later(15 * MINUTE);
    }
    await last().complete();
    expect(manager.get(gid)).toMatchObject({ state: 'complete', error: undefined });
  });

  test('for want of a network is tried until there is one, if there ever was', async () => {
    const never = await add({ maxTries: 1 });
    await last().fail('origin-unreachable');
    expect(manager.get(never).state).toBe('error');
    const once = await add({ maxTries: 1 });
    last().storedBytes = 10;
    for (let i = 0; i < 5; i++) {
      await last().fail('origin-unreachable');
      expect(manager.get(once)).toMatchObject({ state: 'waiting', storedBytes: 10 });
      await later(15 * MINUTE);
    }
  });

  test('for a folder that is a file is told, and goes on under no other name', async () => {
    writeFileSync(join(folder, 'afile'), 'x');
    const gid = await add({ dir: 'afile', maxTries: 1 });
    await new Promise<void>((resolve) => {
      const stop = manager.listen(({ kind }) => {
        if (kind === 'failed') resolve(stop());
      });
      if (manager.get(gid).state === 'error') resolve(stop());
    });
    expect(manager.get(gid)).toMatchObject({
      state: 'error',
      error: { code: 'file-not-writable' },
      name: 'x.bin',
    });
  });

  test('because the name is taken goes on under the next', async () => {
    const gid = await add();
    await last().fail('file-exists', join(folder, 'sent-by-server.tar.gz'));
    expect(last().request.file).toBe('sent-by-server.tar.1.gz');
    await last().complete();
    expect(manager.get(gid).state).toBe('complete');
    expect(moved).toEqual([]);
    const late = await add();
    last().begin();
    await last().fail('file-exists', join(folder, 'x.bin'));
    expect(moved).toEqual([[join(folder, 'x.bin'), join(folder, 'x.1.bin')]]);
    await last().complete();
    expect(manager.get(late)).toMatchObject({ state: 'complete', name: 'x.1.bin' });
    const held = await add();
    last().begin();
    await last().fail('file-in-use', join(folder, 'x.bin'));
    expect(manager.get(held).state).toBe('waiting');
    manager.remove(held, false);
    const strict = await add({ rename: false });
    await last().fail('file-exists', join(folder, 'x.bin'));
    expect(manager.get(strict).state).toBe('error');
  });
});

describe('names', () => {
  test('of downloads that go on at once are never the same', async () => {
    await add();
    await add({ urls: ['http://b.example/x.bin'] });
    await add({ urls: ['http://c.example/x.bin'] });
    expect(runs.map((run) => run.request.file)).toEqual([undefined, 'x.1.bin', 'x.2.bin']);
  });

  test('a paused one keeps its own', async () => {
    const first = await add();
    last().begin();
    manager.pause(first);
    await add({ urls: ['http://b.example/x.bin'] });
    expect(last().request.file).toBe('x.1.bin');
    manager.resume(first);
    await settled();
    expect(last().request.file).toBe('x.bin');
  });
});

describe('a name that another partial file has', () => {
  test.each([
    [{}, true],
    [{ file: 'mine.bin' }, false],
    [{ file: 'mine.bin', rename: true }, true],
    [{ rename: false }, false],
  ])('%j may be changed: %s', async (asked, expected) => {
    await add(asked);
    expect(last().request.rename).toBe(expected);
    last().begin();
    manager.pause(manager.unfinished()[0]?.gid as string);
    await settled();
    manager.resume(manager.unfinished()[0]?.gid as string);
    await settled();
    // What has been begun is this download's own.
    expect(last().request.rename).toBe(false);
  });
});

describe('stopping', () => {
  test('a resumed download waits for its own end before it goes on', async () => {
    const gid = await add();
    last().lingers = true;
    manager.pause(gid);
    expect(manager.get(gid).state).toBe('paused');
    expect(manager.running(gid)).toBeUndefined();
    manager.resume(gid);
    await settled();
    expect(runs).toHaveLength(1);
    last().lingers = false;
    await last().fail('interrupted');
    expect(runs).toHaveLength(2);
    await last().complete();
    expect(manager.get(gid).state).toBe('complete');
    expect(events).toEqual(['started', 'paused', 'started', 'completed']);
  });

  test('a removed one loses its partial file, when it has ended', async () => {
    const gid = await add();
    last().begin();
    last().lingers = true;
    expect(manager.remove(gid, true)).toBe(true);
    expect(manager.remove(gid, true)).toBe(false);
    expect(removed).toEqual([]);
    await last().fail('interrupted');
    expect(removed).toEqual([join(folder, 'x.bin')]);
    expect(manager.get(gid).state).toBe('removed');
  });

  test.each([false, true])(
    'one removed before its name is told loses it, paused: %s',
    async (paused) => {
      const gid = await add();
      last().hasFile = true;
      if (paused) {
        manager.pause(gid);
        await settled();
        expect(manager.get(gid).path).toBe(join(folder, 'x.bin'));
      }
      manager.remove(gid, true);
      await settled();
      expect(removed).toEqual([join(folder, 'x.bin')]);
    },
  );

  test('one that never began has nothing to lose', async () => {
    manager.setLimits({ concurrent: 1 });
    await add();
    const second = await add({ urls: ['http://a.example/y.bin'] });
    manager.remove(second, true);
    await settled();
    expect(removed).toEqual([]);
  });

  test('one that has failed loses what it has left, unless another goes on with it', async () => {
    const first = await add();
    last().begin();
    await last().fail('origin-gone');
    const second = await add();
    last().begin();
    expect(manager.deleteLeft(first)).toBe(true);
    await settled();
    expect(removed).toEqual([]);
    await last().fail('origin-gone');
    expect(manager.deleteLeft(second)).toBe(true);
    await settled();
    expect(removed).toEqual([join(folder, 'x.bin')]);
    expect(manager.get(second)).toMatchObject({ state: 'error', path: undefined, storedBytes: 0 });
  });

  test('one that is tried again waits until what it had is deleted', async () => {
    const gid = await add();
    last().begin();
    const { promise, resolve } = Promise.withResolvers<void>();
    deletion = promise;
    manager.remove(gid, true);
    expect(manager.retry(gid)).toBe(true);
    for (let i = 0; i < 20; i++) await new Promise((next) => setImmediate(next));
    expect(runs).toHaveLength(1);
    resolve();
    await settled();
    expect(removed).toEqual([join(folder, 'x.bin')]);
    expect(runs).toHaveLength(2);
  });

  test('the end of the daemon is none of the download', async () => {
    const gid = await add();
    last().begin();
    last().storedBytes = 40;
    await shut();
    open();
    await settled();
    expect(manager.get(gid)).toMatchObject({ state: 'active', storedBytes: 40 });
    expect(runs).toHaveLength(1);
  });
});

describe('a full disk under the list', () => {
  const pages = (count: number) => db.exec(`PRAGMA max_page_count = ${count}`);

  /** Leaves no room for another byte. */
  function fill(): void {
    pages(Number(db.prepare('PRAGMA page_count').get()?.page_count));
    for (let bytes = 8192; bytes > 0; bytes = Math.floor(bytes / 2)) {
      for (let full = false; !full; ) {
        try {
          db.prepare(
            'INSERT INTO settings VALUES (hex(randomblob(8)), substr(hex(zeroblob(8192)), 1, ?))',
          ).run(bytes);
        } catch {
          full = true;
        }
      }
    }
  }

  test('ends neither downloads nor the daemon; what happened is written down later', async () => {
    const gid = await add();
    fill();
    // What cannot be kept is not added, nor are those that were asked for with it.
    const many = Array.from({ length: 200 }, (_, i) => ({ urls: [`http://c.example/${i}`] }));
    expect(() => manager.addAll(many)).toThrow(/disk is full|room/i);
    expect(manager.unfinished().map((one) => one.gid)).toEqual([gid]);
    last().begin();
    await last().fail('origin-gone', 'x'.repeat(20_000));
    expect(manager.get(gid)).toMatchObject({ state: 'error', error: { code: 'origin-gone' } });
    pages(100_000);
    await shut();
    open();
    expect(manager.get(gid)).toMatchObject({ state: 'error', error: { code: 'origin-gone' } });
  });
});

describe('changes', () => {
  test('limit and priority at once, others by starting anew', async () => {
    const gid = await add();
    manager.change(gid, { limit: 500, priority: 3 });
    manager.change(gid, { limit: null });
    expect(last().limits).toEqual([500, undefined]);
    expect(manager.get(gid)).toMatchObject({ priority: 3, request: { limit: undefined } });
    manager.change(gid, { headers: { 'X-New': '1' } });
    await settled();
    expect(runs).toHaveLength(2);
    expect(last().request.headers).toEqual({ 'x-new': '1' });
    expect(() => manager.change(gid, { file: '../x' })).toThrow(/below the folder/);
    expect(() => manager.change(gid, { category: 'none' })).toThrow(/no "none"/);
  });

  test('to another folder or name take along what is there', async () => {
    const gid = await add();
    last().begin();
    manager.change(gid, { dir: 'other' });
    await settled();
    last().begin();
    manager.change(gid, { file: 'y.bin' });
    await settled();
    expect(moved).toEqual([
      [join(folder, 'x.bin'), join(folder, 'other', 'x.bin')],
      [join(folder, 'other', 'x.bin'), join(folder, 'other', 'y.bin')],
    ]);
    expect(last().request).toMatchObject({ dir: join(folder, 'other'), file: 'y.bin' });
  });

  test('of the category take the folder along where nothing has begun', async () => {
    manager.settings.categories = [
      { name: 'films', folder: 'films', extensions: ['mkv'] },
      { name: 'notes', folder: 'notes', extensions: ['txt'] },
    ];
    const url = 'http://a.example/film.mkv';
    const [waits, own] = ['', 'own'].map(
      (dir) => manager.add({ urls: [url], paused: true, ...(dir === '' ? {} : { dir }) }).gid,
    ) as [string, string];
    manager.change(waits, { category: 'notes' });
    expect(manager.get(waits)).toMatchObject({
      category: 'notes',
      request: { dir: join(folder, 'notes') },
    });
    manager.change(own, { category: null });
    expect(manager.get(own).category).toBeUndefined();
    expect(manager.get(own).request.dir).toBe(join(folder, 'own'));

    const { gid: begun } = manager.add({ urls: [url] });
    await settled();
    last().begin();
    const runsBefore = runs.length;
    manager.change(begun, { category: 'notes' });
    await settled();
    expect(manager.get(begun)).toMatchObject({
      category: 'notes',
      request: { dir: join(folder, 'films') },
    });
    expect(runs).toHaveLength(runsBefore);
    await last().complete();
    manager.change(begun, { category: 'films' });
    expect(manager.get(begun)).toMatchObject({ category: 'films', state: 'complete' });
    expect(() => manager.change(begun, { category: 'films', priority: 1 })).toThrow(/finished/);
  });

  test('more URLs are told to the run, others need a new one', async () => {
    const gid = await add();
    const [url] = manager.get(gid).request.urls as [string];
    manager.setUrls(gid, [url, 'http://mirror.example/x']);
    expect(last().urls).toEqual(['http://mirror.example/x']);
    manager.setUrls(gid, ['http://mirror.example/x']);
    await settled();
    expect(last().request.urls).toEqual(['http://mirror.example/x']);
    expect(() => manager.setUrls(gid, [])).toThrow(/none would be left/);
  });

  test('what logs in at one host is not taken to another', async () => {
    const login = { user: 'me', password: 'secret' };
    const headers = { cookie: 'c=1', accept: '*/*' };
    const gid = await add({ headers, login });
    manager.replaceUrl(gid, 'http://a.example/other');
    await settled();
    expect(last().request).toMatchObject({ headers, login });
    manager.replaceUrl(gid, 'http://b.example/x.bin');
    await settled();
    expect(last().request).toMatchObject({ headers: { accept: '*/*' }, login: undefined });
    expect(events).toContain('note');
    manager.change(gid, { login });
    await settled();
    manager.setUrls(gid, ['http://c.example/x.bin']);
    await settled();
    expect(last().request.login).toBeUndefined();
  });

  test('the limit of a host is for those that are fetched from it', async () => {
    manager.setLimits({ concurrent: 5, perHost: 1 });
    const first = await add();
    const second = await add({ urls: ['http://a.example/y.bin'] });
    expect(manager.get(second).state).toBe('queued');
    manager.replaceUrl(second, 'http://b.example/y.bin');
    await settled();
    expect([first, second].map((gid) => manager.get(gid).state)).toEqual(['active', 'active']);
  });

  test('only the file that was downloaded is deleted', async () => {
    const path = join(folder, 'x.bin');
    const gid = await add();
    last().begin();
    await last().complete();
    writeFileSync(path, 'something else');
    const what = { deletePartial: false, deleteFile: true, forget: false, undoMs: 0 };
    const remove = () => manager.removeAll({ gids: [gid], ...what });
    await expect(remove()).rejects.toMatchObject({ code: 'wrong-state' });
    expect(readFileSync(path, 'utf8')).toBe('something else');
    writeFileSync(path, 'x'.repeat(100));
    await remove();
    expect(existsSync(path)).toBe(false);
    await remove();
  });

  test('a log-in in a new link is never part of it', async () => {
    const gid = await add();
    manager.replaceUrl(gid, 'http://me:secret@b.example/x.bin');
    expect(manager.get(gid).request).toMatchObject({
      urls: ['http://b.example/x.bin'],
      login: { user: 'me', password: 'secret' },
    });
    const urls = ['http://b.example/x.bin', 'http://me:secret@c.example/x.bin'];
    expect(() => manager.setUrls(gid, urls)).toThrow(/user name or password/);
    manager.change(gid, { login: null });
    expect(manager.get(gid).request.login).toBeUndefined();
  });

  test('a new link goes on with the file that the old one began', async () => {
    const gid = await add({ urls: ['http://a.example/x.bin?key=old'] });
    last().begin();
    await last().fail('origin-denied');
    expect(manager.get(gid).state).toBe('error');
    manager.replaceUrl(gid, 'http://a.example/other?key=new');
    await settled();
    expect(last().request).toMatchObject({
      urls: ['http://a.example/other?key=new'],
      file: 'x.bin',
    });
    await last().complete();
    expect(() => manager.replaceUrl(gid, 'http://a.example/')).toThrow(/it is complete/);
  });
});

describe('limits over all', () => {
  test('a host that asks for a pause gets it, and others go ahead', async () => {
    manager.setLimits({ concurrent: 1 });
    manager.hosts.onRefused('a.example', 1, 30_000);
    const gid = await add();
    expect(manager.get(gid)).toMatchObject({ state: 'waiting', attempts: 0, retryAt: T0 + 30_000 });
    const other = await add({ urls: ['http://b.example/y'] });
    expect(manager.get(other).state).toBe('active');
    await last().complete();
    await later(30_000);
    expect(manager.get(gid).state).toBe('active');
  });

  test('the rate is the lower of the limit and the schedule', async () => {
    const days = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const;
    const week = { days, fromMinute: 0, toMinute: 0 };
    manager.setLimits({ concurrent: 5, limit: 1000 });
    expect(rate.rate).toBe(1000);
    manager.settings.windows = [{ ...week, effect: 300 }];
    manager.settingsChanged();
    expect(rate.rate).toBe(300);
    const gid = await add();
    manager.settings.windows = [{ ...week, effect: 'pause' }];
    manager.settingsChanged();
    expect(manager.get(gid).state).toBe('queued');
    expect(rate.rate).toBe(1000);
    manager.settings.windows = [];
    manager.setLimits({ concurrent: 5 });
    expect(rate.rate).toBeUndefined();
    await settled();
    expect(manager.get(gid).state).toBe('active');
  });

  test('a gid, or as much of it as no other has, names a download', async () => {
    await add({ gid: 'abcd000000000000' });
    await add({ gid: 'abce000000000000' });
    expect(manager.get('abcd').gid).toBe('abcd000000000000');
    expect(() => manager.get('abc')).toThrow(/not enough/);
    expect(() => manager.get('f')).toThrow(/no such download/);
    await expect(add({ gid: 'abcd000000000000' })).rejects.toThrow(/there already/);
    expect(manager.unfinished()).toHaveLength(2);
  });

  test('several are put before another, or at the end, in the order given', async () => {
    manager.setLimits({ concurrent: 1 });
    await add({ gid: 'ffff000000000000' });
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((letter) => letter.repeat(16)) as [
      string,
      string,
      string,
      string,
    ];
    for (const gid of [a, b, c, d]) await add({ gid });
    const line = () => manager.queue.line.map(({ gid }) => gid[0]).join('');
    expect(manager.place([d, b], a)).toEqual([d, b]);
    expect(line()).toBe('dbac');
    manager.place([d, a], c);
    expect(line()).toBe('bdac');
    manager.place([b, d], undefined);
    expect(line()).toBe('acbd');
    expect(manager.place(['ffff000000000000', a], a)).toEqual([]);
    expect(line()).toBe('acbd');
  });

  test('one that is to start later does so, also after a restart of the daemon', async () => {
    const startAt = T0 + 3 * 24 * 60 * MINUTE;
    const gid = await add({ startAt });
    expect(manager.get(gid).state).toBe('queued');
    await shut();
    open();
    expect(manager.queue.get(gid)).toMatchObject({ held: 'start', startAt });
    manager.change(gid, { startAt: null });
    await settled();
    expect(manager.get(gid).state).toBe('active');
  });

  test('a limit that is set while a run is about to begin counts', async () => {
    const gid = await add();
    manager.pause(gid);
    manager.resume(gid);
    manager.change(gid, { limit: 123 });
    await settled();
    expect(last().limits).toEqual([123]);
  });

  test('of several of which one cannot be, none is added', async () => {
    const asked = [{ urls: ['http://a.example/1'] }, { urls: ['ftp://a.example/2'] }];
    expect(() => manager.addAll(asked)).toThrow(/can be fetched/);
    expect(manager.unfinished()).toEqual([]);
  });
});
