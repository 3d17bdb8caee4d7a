/** The daemon's downloads together: their order, their shares of a rate, lists, and notifications. */

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { DaemonProcess, Listener, type View } from '../../fixtures/programs/daemon.ts';
import { DaemonStage, digestOf } from '../../fixtures/stages/daemon-stage.ts';
import { until } from '../../fixtures/until.ts';

const MB = 1_000_000;

const stage = await DaemonStage.forEachTest();
const { origin } = stage;

describe('the queue', () => {
  test('runs as many downloads as are allowed, by priority and position', async () => {
    await stage.daemon.call('millrace.setLimits', { concurrent: 1 });
    const gids: string[] = [];
    for (const seed of ['a', 'b', 'c'])
      gids.push(await stage.daemon.add({ urls: [stage.gated(seed)] }));
    const [a, b, c] = gids as [string, string, string];
    const d = await stage.daemon.add({ urls: [stage.gated('d')], priority: 5 });
    await stage.daemon.partly(a);
    const { downloads: all } = await stage.daemon.call('millrace.list');
    expect(all.map((one) => one.gid)).toEqual([a, d, b, c]);
    expect(all.map((one) => one.held)).toEqual([undefined, 'turn', 'turn', 'turn']);
    expect(await stage.daemon.call('millrace.move', { gid: c, position: 0 })).toEqual({
      position: 0,
    });
    await stage.daemon.call('millrace.pause', { gids: [d] });
    origin.openGate();
    for (const gid of [a, c, b]) await stage.daemon.reaches(gid, 'complete');
    const { downloads: done } = await stage.daemon.call('millrace.list', {
      status: ['complete'],
    });
    expect(done.map((one) => one.gid)).toEqual([b, c, a]);
    expect((await stage.daemon.status(d)).status).toBe('paused');
    await stage.daemon.call('millrace.resume');
    await stage.daemon.reaches(d, 'complete');
  });

  test('stops while the schedule has a pause, and continues after it', async () => {
    const url = stage.gated('scheduled');
    const gid = await stage.daemon.add({ urls: [url] });
    await stage.daemon.partly(gid);
    const days = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];
    const windows = [{ days, from: '00:00', to: '24:00', pause: true }];
    expect(await stage.daemon.call('millrace.setSchedule', { windows })).toMatchObject({
      now: 'pause',
    });
    expect(await stage.daemon.status(gid)).toMatchObject({ status: 'queued', held: 'schedule' });
    origin.openGate();
    await stage.daemon.call('millrace.setSchedule', { windows: [] });
    const { path } = await stage.daemon.reaches(gid, 'complete');
    expect(await digestOf(path)).toBe(origin.digest(url));
  });

  test('shares one rate between downloads, however many connections each has', async () => {
    await stage.daemon.call('millrace.setLimits', { limit: 2 * MB });
    const size = 32 * MB;
    const urls = ['many', 'one'].map((seed) => origin.url('none', { size, seed, name: seed }));
    const [many, one] = [
      await stage.daemon.add({
        urls: [urls[0] as string],
        connections: 16,
        connectionsPerHost: 16,
      }),
      await stage.daemon.add({ urls: [urls[1] as string], connections: 1, connectionsPerHost: 1 }),
    ];
    const received = async () => ({
      x: (await stage.daemon.status(many)).receivedBytes,
      y: (await stage.daemon.status(one)).receivedBytes,
    });
    // Each connection reads ahead once before the limit makes it wait: compare only later bytes.
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
    // Without sharing, the ratio would be 16 to 1.
    expect(Math.min(x, y) / Math.max(x, y)).toBeGreaterThan(0.4);
    // Lifting the limit frees the downloads that wait.
    await stage.daemon.call('millrace.setLimits', { limit: null });
    for (const [i, gid] of [many, one].entries()) {
      const { path } = await stage.daemon.reaches(gid, 'complete');
      expect(await digestOf(path)).toBe(origin.digest(urls[i] as string));
    }
  });
});

describe('lists', () => {
  test('history can be searched by any part of name, URL and error', async () => {
    const names = ['debian-13.1.0-netinst.iso', 'Ubuntu 26.04.iso', 'notes.pdf'];
    const gids: string[] = [];
    for (const name of names) {
      const url = origin.url('none', { name: encodeURIComponent(name) });
      gids.push(await stage.daemon.add({ urls: [url] }));
    }
    for (const gid of gids) await stage.daemon.reaches(gid, 'complete');
    const failed = await stage.daemon.add({ urls: [origin.url('gone', { name: 'old.iso' })] });
    await stage.daemon.reaches(failed, 'error');
    const find = async (text: string) => {
      const found = await stage.daemon.call('millrace.search', { text });
      return found.downloads.map(({ name }) => name).sort();
    };
    expect(await find('netinst')).toEqual([names[0]]);
    expect(await find('UBUNTU 26')).toEqual([names[1]]);
    expect(await find('.iso none')).toEqual([names[1], names[0]].sort());
    expect(await find('origin-gone')).toEqual(['old.iso']);
    expect(await find('netinst ubuntu')).toEqual([]);
    expect(await find('"*% OR')).toEqual([]);
    await stage.daemon.call('millrace.remove', { gids: [gids[0]], forget: true });
    expect(await find('netinst')).toEqual([]);
    expect(await stage.daemon.call('millrace.purge', { status: ['error'] })).toMatchObject({
      count: 1,
    });
  });

  test('another daemon can import an exported list', async () => {
    const done = origin.url('none', { name: 'done.bin' });
    await stage.daemon.reaches(await stage.daemon.add({ urls: [done] }), 'complete');
    const url = stage.gated('moved', 'moved.bin');
    const headers = { cookie: 'secret=1', 'x-other': '2' };
    const gid = await stage.daemon.add({ urls: [url], headers, paused: true, priority: 7 });
    const { text } = await stage.daemon.call('millrace.export', {
      format: 'json',
    });
    const { text: session } = await stage.daemon.call('millrace.export', {
      format: 'aria2',
      which: 'queue',
      secrets: true,
    });
    expect(text).not.toContain('secret=1');

    await mkdir(join(stage.folder, 'other'));
    const other = await DaemonProcess.start(join(stage.folder, 'other'));
    try {
      const imported = await other.call('millrace.import', { text });
      expect(imported).toMatchObject({ skipped: [], gids: [gid, expect.anything()] });
      expect(await other.status(gid)).toMatchObject({ status: 'paused', priority: 7 });
      expect(await other.call('millrace.search', { text: 'done.bin' })).toMatchObject({ total: 1 });
      const list = `${session}\nnonsense\n# a comment\n${done}\n`;
      const more = await other.call('millrace.import', { text: list, paused: true, trusted: true });
      expect(more.gids).toHaveLength(2);
      expect(more.skipped).toHaveLength(1);
      const option = await other.call('aria2.getOption', more.gids[0]);
      expect(option).toMatchObject({ header: expect.stringContaining('cookie: secret=1') });
    } finally {
      await other.stop();
    }
  });
});

describe('notifications', () => {
  test('subscribers see every change, and progress', async () => {
    const listener = await Listener.connect(stage.daemon);
    await listener.call('millrace.subscribe', { progressMs: 200 });
    const url = stage.gated('watched');
    const gid = await stage.daemon.add({ urls: [url] });
    const heard = (method: string) => listener.heard.filter((one) => one.method === method);
    await until(() => heard('millrace.onProgress').length > 0);
    origin.openGate();
    await stage.daemon.reaches(gid, 'complete');
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
    const cells = (await stage.daemon.call('millrace.strip', { gid, cells: 7 })).cells;
    expect(cells).toEqual([1, 1, 1, 1, 1, 1, 1]);
    listener.close();
  });
});
