/** The daemon: what it downloads, keeps, and goes on with. */

import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type ByteRange, intersect } from '@millrace/shared/base/byte-range';
import { parseJournal } from '@millrace/shared/download/journal';
import { sha256 } from '../fixtures/content.ts';
import { DaemonProcess, Listener, type View } from '../fixtures/daemon.ts';
import { FaultOrigin } from '../fixtures/fault-origin.ts';
import { temporaryFolder } from '../fixtures/processes.ts';
import { until } from '../fixtures/until.ts';

const MB = 1_000_000;

const origin = await FaultOrigin.start();
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let daemon: DaemonProcess;

beforeEach(async () => {
  origin.reset();
  folder = await temporaryFolder();
  daemon = await DaemonProcess.start(folder.path);
});
afterEach(async () => {
  await daemon.stop();
  await folder.remove();
});
afterAll(() => origin.stop());

const digestOf = async (path: string) => sha256(await readFile(path));
const downloads = () => readdir(join(folder.path, 'downloads'));

/** True once a download has noted in its journal that some of it is on disk. */
async function isNoted(name: string): Promise<boolean> {
  const journal = join(folder.path, 'downloads', `${name}.millrace-journal`);
  const text = await readFile(journal, 'utf8').catch(() => '');
  return text.split('\n').length > 2;
}

/** What its journal says is there. */
async function noted(name: string): Promise<readonly ByteRange[]> {
  const text = await readFile(join(folder.path, 'downloads', `${name}.millrace-journal`), 'utf8');
  return parseJournal(text)?.entries.map(({ range }) => range) ?? [];
}

/** The range that a request of ours asks for. */
function parseRange(field: string | undefined): ByteRange {
  expect(field).toMatch(/^bytes=\d+-\d+$/);
  const [, first, last] = /(\d+)-(\d+)/.exec(field ?? '') ?? [];
  return { start: Number(first), end: Number(last) + 1 };
}

/** A file whose first request is served and whose others wait for the gate. */
const gated = (seed: string, name = `${seed}.bin`) =>
  origin.url('gate', { size: 4 * MB, seed, name });

describe('a download', () => {
  test('is saved under the name in its URL, right to the last byte', async () => {
    const url = origin.url('none', { size: 3 * MB, name: 'a%20file.iso' });
    const gid = await daemon.add({ urls: [url] });
    const view = await daemon.reaches(gid, 'complete');
    expect(view).toMatchObject({ name: 'a file.iso', storedBytes: 3 * MB });
    expect(await digestOf(view.path)).toBe(origin.digest(url));
    expect(await downloads()).toEqual(['a file.iso']);
  });

  test('fails with what is wrong, and is tried again when asked to', async () => {
    const url = origin.url('not-found');
    const gid = await daemon.add({ urls: [url] });
    const view = await daemon.reaches(gid, 'error');
    expect(view).toMatchObject({ error: { code: 'origin-not-found' }, expiredLink: true });
    const { downloads: expired } = await daemon.call<{ downloads: View[] }>('millrace.expired');
    expect(expired.map((one) => one.gid)).toEqual([gid]);
    const better = origin.url('none');
    await daemon.call('millrace.replaceUrl', { gid, url: better });
    const { path } = await daemon.reaches(gid, 'complete');
    expect(await digestOf(path)).toBe(origin.digest(better));
  });

  test('of a name that is taken gets the next one', async () => {
    const urls = ['a', 'b', 'c'].map((seed) => origin.url('none', { seed, name: 'same.tar.gz' }));
    await writeFile(join(folder.path, 'downloads', 'same.tar.gz'), 'mine');
    const gids: string[] = [];
    for (const url of urls) gids.push(await daemon.add({ urls: [url] }));
    for (const [i, gid] of gids.entries()) {
      const { path } = await daemon.reaches(gid, 'complete');
      expect(await digestOf(path)).toBe(origin.digest(urls[i] as string));
    }
    const names = ['same.tar.1.gz', 'same.tar.2.gz', 'same.tar.3.gz', 'same.tar.gz'];
    expect((await downloads()).sort()).toEqual(names);
    expect(await readFile(join(folder.path, 'downloads', 'same.tar.gz'), 'utf8')).toBe('mine');
  });

  test('that is removed leaves nothing, unless what it has is to be kept', async () => {
    for (const deletePartial of [false, true]) {
      const name = `${deletePartial ? 'gone' : 'kept'}.bin`;
      const gid = await daemon.add({ urls: [gated(`removed ${deletePartial}`, name)] });
      const parts = async () => (await downloads()).filter((part) => part.startsWith(name));
      await daemon.partly(gid);
      await daemon.call('millrace.remove', { gids: [gid], deletePartial });
      expect(await daemon.status(gid)).toMatchObject({ status: 'removed' });
      await until(async () => (await parts()).length === (deletePartial ? 0 : 2));
    }
  });

  test('that is removed at any moment leaves nothing', async () => {
    for (let i = 0; i < 12; i++) {
      const asked = origin.requests.length;
      const gid = await daemon.add({ urls: [gated(`moment ${i}`)] });
      // Once it has asked, once it has a file, or whenever the call comes in.
      if (i % 3 === 0) await until(() => origin.requests.length > asked);
      if (i % 3 === 1) await until(async () => (await downloads()).length > 0);
      const method = i % 2 === 0 ? 'millrace.remove' : 'aria2.remove';
      await daemon.call(method, i % 2 === 0 ? { gids: [gid] } : gid);
      await until(async () => (await downloads()).length === 0);
    }
  });

  test('that has failed leaves nothing when it is removed', async () => {
    const url = gated('failed');
    const gid = await daemon.add({ urls: [url], maxTries: 1 });
    await daemon.partly(gid);
    origin.replace(url, 'gone');
    await daemon.call('millrace.replaceUrl', { gid, url: origin.url('not-found') });
    await daemon.reaches(gid, 'error');
    expect(await downloads()).toHaveLength(2);
    await daemon.call('millrace.remove', { gids: [gid] });
    await until(async () => (await downloads()).length === 0);
  });

  test('of a name that another has begun to use gets the next one', async () => {
    const begun = await daemon.add({ urls: [gated('begun', 'x.bin')] });
    await daemon.partly(begun);
    await daemon.call('millrace.remove', { gids: [begun], deletePartial: false });
    const url = origin.url('none', { seed: 'other', name: 'x.bin' });
    const view = await daemon.reaches(await daemon.add({ urls: [url] }), 'complete');
    expect(view.name).toBe('x.1.bin');
    expect(await digestOf(view.path)).toBe(origin.digest(url));
    const named = await daemon.add({ urls: [url], file: 'x.bin' });
    expect(await daemon.reaches(named, 'error')).toMatchObject({
      error: { code: 'different-file' },
    });
    await daemon.call('millrace.retry', { gids: [begun] });
    origin.openGate();
    expect((await daemon.reaches(begun, 'complete')).name).toBe('x.bin');
  });

  test('goes on in another folder, under another name', async () => {
    const url = gated('moving', 'x.bin');
    const gid = await daemon.add({ urls: [url] });
    await daemon.partly(gid);
    const dir = join(folder.path, 'other');
    await daemon.call('millrace.change', { gid, dir, file: 'y.bin' });
    origin.openGate();
    const { path } = await daemon.reaches(gid, 'complete');
    expect(path).toBe(join(dir, 'y.bin'));
    expect(await digestOf(path)).toBe(origin.digest(url));
    expect(await downloads()).toEqual([]);
  });

  test('sends the header fields, the referrer and the log-in that it was given', async () => {
    const url = origin.url('none').replace('http://', 'http://me:secret@');
    const headers = { Cookie: 'a=b', Referer: 'http://example.com/', 'User-Agent': 'test/1' };
    await daemon.reaches(await daemon.add({ urls: [url], headers }), 'complete');
    expect(origin.requests.length).toBeGreaterThan(0);
    for (const request of origin.requests) {
      expect(request.headers).toMatchObject({
        cookie: 'a=b',
        referer: 'http://example.com/',
        'user-agent': 'test/1',
        authorization: `Basic ${Buffer.from('me:secret').toString('base64')}`,
      });
    }
  });

  test('does not show the log-in that it was given', async () => {
    const login = { user: 'me', password: 'secret' };
    const url = origin.url('none');
    const gid = await daemon.add({ urls: [url], login });
    const view = await daemon.reaches(gid, 'complete');
    expect(origin.requests[0]?.headers.authorization).toMatch(/^Basic /);
    const options = { 'http-user': 'me', 'http-passwd': 'secret' };
    const other = await daemon.call('aria2.addUri', [url], { ...options, out: 'other.bin' });
    const shown = [
      view,
      await daemon.call('aria2.getOption', other),
      await daemon.call('aria2.tellStatus', other),
      await daemon.call('millrace.list', {}),
      await daemon.call('millrace.export', { format: 'json' }),
    ];
    expect(JSON.stringify(shown)).not.toMatch(/secret|bWU6c2VjcmV0/);
    const all = await daemon.call('millrace.export', { format: 'json', secrets: true });
    expect(JSON.stringify(all)).toContain('secret');
  });

  test('goes to the folder of its kind', async () => {
    const categories = [{ name: 'disks', folder: 'to/disks', extensions: ['iso'] }];
    await daemon.call('millrace.setCategories', { categories });
    const url = origin.url('none', { name: 'x.iso' });
    const view = await daemon.reaches(await daemon.add({ urls: [url] }), 'complete');
    expect(view.category).toBe('disks');
    expect(view.path).toBe(join(folder.path, 'downloads', 'to', 'disks', 'x.iso'));
    expect(await digestOf(view.path)).toBe(origin.digest(url));
  });

  test('out of a Metalink document has its size and digest checked', async () => {
    const url = origin.url('none');
    const metalink = (digest: string, size = 1_500_000) =>
      Buffer.from(
        `<metalink xmlns="urn:ietf:params:xml:ns:metalink"><file name="m.bin"><size>${size}</size>
         <hash type="sha-256">${digest}</hash><url>${url.replaceAll('&', '&amp;')}</url>
         </file></metalink>`,
      ).toString('base64');
    const [bad] = await daemon.call<[string]>('aria2.addMetalink', metalink('0'.repeat(64)));
    expect(await daemon.reaches(bad, 'error')).toMatchObject({
      error: { code: 'checksum-mismatch' },
    });
    const digest = origin.digest(url);
    const [long] = await daemon.call<[string]>('aria2.addMetalink', metalink(digest, 1_500_001));
    expect(await daemon.reaches(long, 'error')).toMatchObject({
      error: { code: 'different-file', detail: 'it has 1500000 bytes instead of 1500001' },
    });
    const [good] = await daemon.call<[string]>('aria2.addMetalink', metalink(digest));
    const { path, name } = await daemon.reaches(good, 'complete');
    expect(name).toBe('m.bin');
    expect(await digestOf(path)).toBe(origin.digest(url));
  });
});

describe('the queue', () => {
  test('runs as many as are allowed, by priority and position', async () => {
    await daemon.call('millrace.setLimits', { concurrent: 1 });
    const gids: string[] = [];
    for (const seed of ['a', 'b', 'c']) gids.push(await daemon.add({ urls: [gated(seed)] }));
    const [a, b, c] = gids as [string, string, string];
    const d = await daemon.add({ urls: [gated('d')], priority: 5 });
    await daemon.partly(a);
    const { downloads: all } = await daemon.call<{ downloads: View[] }>('millrace.list');
    expect(all.map((one) => one.gid)).toEqual([a, d, b, c]);
    expect(all.map((one) => one.held)).toEqual([undefined, 'turn', 'turn', 'turn']);
    expect(await daemon.call('millrace.move', { gid: c, position: 0 })).toEqual({ position: 0 });
    await daemon.call('millrace.pause', { gids: [d] });
    origin.openGate();
    for (const gid of [a, c, b]) await daemon.reaches(gid, 'complete');
    const { downloads: done } = await daemon.call<{ downloads: View[] }>('millrace.list', {
      status: ['complete'],
    });
    expect(done.map((one) => one.gid)).toEqual([b, c, a]);
    expect((await daemon.status(d)).status).toBe('paused');
    await daemon.call('millrace.resume');
    await daemon.reaches(d, 'complete');
  });

  test('stops while the schedule has a pause, and goes on after it', async () => {
    const url = gated('scheduled');
    const gid = await daemon.add({ urls: [url] });
    await daemon.partly(gid);
    const days = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];
    const windows = [{ days, from: '00:00', to: '24:00', pause: true }];
    expect(await daemon.call('millrace.setSchedule', { windows })).toMatchObject({ now: 'pause' });
    expect(await daemon.status(gid)).toMatchObject({ status: 'queued', held: 'schedule' });
    origin.openGate();
    await daemon.call('millrace.setSchedule', { windows: [] });
    const { path } = await daemon.reaches(gid, 'complete');
    expect(await digestOf(path)).toBe(origin.digest(url));
  });

  test('shares one rate between downloads, however many connections each has', async () => {
    await daemon.call('millrace.setLimits', { limit: 4 * MB });
    const size = 60 * MB;
    const urls = ['many', 'one'].map((seed) => origin.url('none', { size, seed, name: seed }));
    const [many, one] = [
      await daemon.add({ urls: [urls[0] as string], connections: 16, connectionsPerHost: 16 }),
      await daemon.add({ urls: [urls[1] as string], connections: 1, connectionsPerHost: 1 }),
    ];
    const received = async () => ({
      x: (await daemon.status(many)).receivedBytes,
      y: (await daemon.status(one)).receivedBytes,
    });
    // Each connection reads ahead once before it has to wait: what comes after that is paid for.
    let before = { x: 0, y: 0 };
    await until(async () => {
      before = await received();
      return before.x > 6 * MB && before.y > 2 * MB;
    });
    let after = before;
    await until(async () => {
      after = await received();
      return after.x + after.y > before.x + before.y + 8 * MB;
    });
    const [x, y] = [after.x - before.x, after.y - before.y];
    // Without sharing it would be 16 to 1.
    expect(Math.min(x, y) / Math.max(x, y)).toBeGreaterThan(0.4);
    // Taking the limit away frees those that wait.
    await daemon.call('millrace.setLimits', { limit: null });
    for (const [i, gid] of [many, one].entries()) {
      const { path } = await daemon.reaches(gid, 'complete');
      expect(await digestOf(path)).toBe(origin.digest(urls[i] as string));
    }
  });
});

describe('after the end of the process', () => {
  test('kill -9: what ran goes on where it was, what was paused stays so', async () => {
    const urls = ['one', 'two', 'three'].map((seed) => gated(`killed ${seed}`, `${seed}.bin`));
    const gids: string[] = [];
    for (const url of urls) gids.push(await daemon.add({ urls: [url] }));
    const [one, two, three] = gids as [string, string, string];
    for (const name of ['one', 'two', 'three']) await until(() => isNoted(`${name}.bin`));
    await daemon.call('millrace.pause', { gids: [three] });
    await daemon.stop('SIGKILL');
    const kept = await Promise.all(['one', 'two'].map((name) => noted(`${name}.bin`)));
    const before = origin.requests.length;
    origin.openGate();

    daemon = await DaemonProcess.start(folder.path);
    for (const [i, gid] of [one, two].entries()) {
      const { path } = await daemon.reaches(gid, 'complete');
      expect(await digestOf(path)).toBe(origin.digest(urls[i] as string));
      const requests = origin.requests
        .slice(before)
        .filter((r) => new URL(urls[i] as string).href.endsWith(r.path));
      // The first finds out what the file is; no byte that was there is asked for again.
      const asked = requests.slice(1).map(({ headers }) => parseRange(headers.range));
      expect(asked.length).toBeGreaterThan(0);
      expect(kept[i]?.length).toBeGreaterThan(0);
      for (const range of asked) {
        for (const one of kept[i] ?? []) expect(intersect(range, one)).toBeUndefined();
      }
    }
    expect((await daemon.status(three)).status).toBe('paused');
    await daemon.call('millrace.resume', { gids: [three] });
    const { path } = await daemon.reaches(three, 'complete');
    expect(await digestOf(path)).toBe(origin.digest(urls[2] as string));
    expect((await downloads()).sort()).toEqual(['one.bin', 'three.bin', 'two.bin']);
  });

  test('settings, order and history are as they were', async () => {
    await daemon.call('millrace.setLimits', { concurrent: 1, perHost: 3, limit: 1e9 });
    const done = await daemon.add({ urls: [origin.url('none', { name: 'done.bin' })] });
    await daemon.reaches(done, 'complete');
    const gids: string[] = [];
    for (const seed of ['a', 'b', 'c']) {
      gids.push(await daemon.add({ urls: [gated(seed)], paused: true }));
    }
    await daemon.call('millrace.move', { gid: gids[2], position: 0 });
    expect(await daemon.stop()).toBe(0);
    daemon = await DaemonProcess.start(folder.path);
    expect(await daemon.call('millrace.getLimits')).toMatchObject({ concurrent: 1, perHost: 3 });
    const { downloads: all } = await daemon.call<{ downloads: View[] }>('millrace.list');
    const [a, b, c] = gids as [string, string, string];
    expect(all.map((one) => one.gid)).toEqual([c, a, b, done]);
  });

  test('a damaged database is moved aside with a note, and what can be read is kept', async () => {
    const gid = await daemon.add({ urls: [origin.url('none', { name: 'kept.bin' })] });
    await daemon.reaches(gid, 'complete');
    await daemon.stop();
    const path = join(folder.path, 'state', 'downloads.db');
    await writeFile(path, 'this is no database, whatever its name says');
    daemon = await DaemonProcess.start(folder.path);
    expect(daemon.log.join('\n')).toMatch(/was damaged[\s\S]*moved to .*downloads\.db\.damaged-/);
    const names = await readdir(join(folder.path, 'state'));
    expect(names.filter((name) => name.includes('damaged'))).toHaveLength(1);
    expect(await daemon.call('millrace.list')).toMatchObject({ total: 0 });
  });

  test('one daemon at a time has a state folder', async () => {
    await expect(DaemonProcess.start(folder.path)).rejects.toThrow(
      new RegExp(`A daemon is running already.*process ${daemon.child.pid} at ${daemon.url}`),
    );
    expect(await daemon.call('millrace.info')).toMatchObject({ pid: daemon.child.pid });
  });
});

describe('lists', () => {
  test('history is found by any part of name, URL and error', async () => {
    const names = ['debian-13.1.0-netinst.iso', 'Ubuntu 26.04.iso', 'notes.pdf'];
    const gids: string[] = [];
    for (const name of names) {
      const url = origin.url('none', { name: encodeURIComponent(name) });
      gids.push(await daemon.add({ urls: [url] }));
    }
    for (const gid of gids) await daemon.reaches(gid, 'complete');
    const failed = await daemon.add({ urls: [origin.url('gone', { name: 'old.iso' })] });
    await daemon.reaches(failed, 'error');
    const find = async (text: string) => {
      const found = await daemon.call<{ downloads: View[] }>('millrace.search', { text });
      return found.downloads.map(({ name }) => name).sort();
    };
    expect(await find('netinst')).toEqual([names[0]]);
    expect(await find('UBUNTU 26')).toEqual([names[1]]);
    expect(await find('.iso none')).toEqual([names[1], names[0]].sort());
    expect(await find('origin-gone')).toEqual(['old.iso']);
    expect(await find('netinst ubuntu')).toEqual([]);
    expect(await find('"*% OR')).toEqual([]);
    await daemon.call('millrace.remove', { gids: [gids[0]], forget: true });
    expect(await find('netinst')).toEqual([]);
    expect(await daemon.call('millrace.purge', { status: ['error'] })).toEqual({ count: 1 });
  });

  test('what is exported can be imported by another daemon', async () => {
    const done = origin.url('none', { name: 'done.bin' });
    await daemon.reaches(await daemon.add({ urls: [done] }), 'complete');
    const url = gated('moved', 'moved.bin');
    const headers = { cookie: 'secret=1', 'x-other': '2' };
    const gid = await daemon.add({ urls: [url], headers, paused: true, priority: 7 });
    const { text } = await daemon.call<{ text: string }>('millrace.export', { format: 'json' });
    const { text: session } = await daemon.call<{ text: string }>('millrace.export', {
      format: 'aria2',
      which: 'queue',
      secrets: true,
    });
    expect(text).not.toContain('secret=1');

    await mkdir(join(folder.path, 'other'));
    const other = await DaemonProcess.start(join(folder.path, 'other'));
    try {
      const imported = await other.call<{ gids: string[] }>('millrace.import', { text });
      expect(imported).toMatchObject({ skipped: [], gids: [gid, expect.anything()] });
      expect(await other.status(gid)).toMatchObject({ status: 'paused', priority: 7 });
      expect(await other.call('millrace.search', { text: 'done.bin' })).toMatchObject({ total: 1 });
      const list = `${session}\nnonsense\n# a comment\n${done}\n`;
      const more = await other.call<{ gids: string[]; skipped: { line: number }[] }>(
        'millrace.import',
        { text: list, paused: true },
      );
      expect(more.gids).toHaveLength(2);
      expect(more.skipped).toHaveLength(1);
      const option = await other.call<{ header: string }>('aria2.getOption', more.gids[0]);
      expect(option.header).toContain('cookie: secret=1');
    } finally {
      await other.stop();
    }
  });
});

describe('notifications', () => {
  test('those who have subscribed see every change, and progress', async () => {
    const listener = await Listener.connect(daemon);
    await listener.call('millrace.subscribe', { progressMs: 200 });
    const url = gated('watched');
    const gid = await daemon.add({ urls: [url] });
    const heard = (method: string) => listener.heard.filter((one) => one.method === method);
    await until(() => heard('millrace.onProgress').length > 0);
    origin.openGate();
    await daemon.reaches(gid, 'complete');
    const states = () =>
      heard('millrace.onChange').map(
        ({ params }) => (params[0] as { download: View }).download.status,
      );
    await until(() => states().includes('complete'));
    expect(states()[0]).toBe('active');
    expect(heard('aria2.onDownloadStart')).toEqual([
      expect.objectContaining({ params: [{ gid }] }),
    ]);
    await until(() => heard('aria2.onDownloadComplete').length === 1);
    const cells = (await daemon.call<{ cells: number[] }>('millrace.strip', { gid, cells: 7 }))
      .cells;
    expect(cells).toEqual([1, 1, 1, 1, 1, 1, 1]);
    listener.close();
  });
});
