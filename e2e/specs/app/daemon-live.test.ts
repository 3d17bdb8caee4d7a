/** The daemon as a page that is logged in uses it: downloads as they run, and changes of other pages. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { DownloadDetail } from '@millrace/shared/bridge/rpc/detail-api';
import type { LiveUpdate } from '@millrace/shared/bridge/rpc/live-api';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { FileServer } from '../../fixtures/origins/file-server.ts';
import { freePorts } from '../../fixtures/origins/nginx.ts';
import { logIn, PageSocket } from '../../fixtures/pages/page-client.ts';
import { DaemonProcess } from '../../fixtures/programs/daemon.ts';
import { EdgeProcess, temporaryFolder } from '../../fixtures/programs/processes.ts';
import { becomes, until } from '../../fixtures/until.ts';

const SIZE = 6_000_000;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let daemon: DaemonProcess;
let origin: FileServer;
let mirror: FileServer;
let page: PageSocket;
const downloads = () => join(folder.path, 'downloads');

/** Starts the daemon, at a port where it can be started again unless one is given. */
const start = async (port?: number) =>
  DaemonProcess.start(folder.path, ['--port', String(port ?? (await freePorts()))]);

beforeAll(async () => {
  folder = await temporaryFolder();
  daemon = await start();
});
afterAll(async () => {
  await daemon.stop();
  await folder.remove();
});
beforeEach(async () => {
  [origin, mirror] = await Promise.all([FileServer.start(), FileServer.start()]);
  const { cookie } = await logIn(daemon.port, { token: daemon.token });
  page = await PageSocket.open(daemon.port, cookie);
});
afterEach(async () => {
  page.close();
  await Promise.all([origin.stop(), mirror.stop()]);
});
const list = (query: object = {}) => page.call('millrace.list', query);
const add = async (request: object) => (await page.call('millrace.add', request)).gid;
const rowsOf = (gid: string) =>
  page.updates.flatMap(({ rows = [] }) => rows.filter((row) => row.gid === gid));

describe('a page that is logged in', () => {
  test('sees a download from several sources as it runs, and its details afterwards', async () => {
    const body = contentOf('page', SIZE);
    const first = origin.add('/film.mkv', { body, etag: '"same"' });
    const second = mirror.add('/film.mkv', { body, etag: '"same"' });
    const { revision } = await page.watch();
    const partlyThere = () =>
      page.updates.flatMap(({ detail }) => detail?.map ?? []).filter(isPartly);
    // Bytes arrive wherever a source is at work, not from the beginning to the end.
    const isOutOfOrder = ({ stored }: { readonly stored: readonly number[] }) =>
      stored.lastIndexOf(100) > stored.indexOf(0);
    const digests = [{ algorithm: 'sha256', hex: sha256(body) }];
    // The limit keeps the download slow until the page has seen enough of it.
    const gid = await add({ urls: [first, second], limit: 100_000, digests });
    await page.watch({ detail: gid, cells: 50 });
    const contributors = () =>
      new Set(page.updates.flatMap(({ detail }) => detail?.map?.by ?? []).filter((by) => by >= 0));
    await until(() => partlyThere().some(isOutOfOrder) && contributors().size === 2);
    await page.call('millrace.change', { gid, limit: 3_000_000 });
    await until(() => rowsOf(gid).some(({ status }) => status === 'complete'));

    // Figures came while the download ran, and the list has a new revision.
    const stored = rowsOf(gid).flatMap(({ storedBytes }) => storedBytes ?? []);
    expect(stored.filter((bytes) => bytes > 0 && bytes < SIZE).length).toBeGreaterThan(0);
    expect(page.updates.at(-1)?.revision).toBeGreaterThan(revision);
    expect(page.updates.some(({ totals }) => totals?.byStatus.active === 1)).toBe(true);
    await until(() => page.updates.some(({ newSpeed }) => newSpeed !== undefined));

    const detail = await page.call('millrace.detail', { gid, cells: 50 });
    expect(detail.map.stored).toEqual(new Array(50).fill(100));
    expect(new Set(detail.map.by)).toEqual(new Set([0, 1]));
    expect(detail.sources.map(({ kind }) => kind)).toEqual(['origin', 'mirror']);
    expect(detail.sources.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1);
    for (const { rttMs } of detail.sources) expect(rttMs).toBeGreaterThan(0);
    expect(detail.digests).toEqual([{ ...digests[0], by: 'user', state: 'verified' }]);
    const events = detail.log.map(({ event }) => event);
    expect([events[0], events.at(-1)]).toEqual(['added', 'complete']);
    expect(sha256(await readFile(join(downloads(), 'film.mkv')))).toBe(sha256(body));
  });

  test('is told of resets, and of a source that has another file', async () => {
    const body = contentOf('resets', SIZE);
    const url = origin.add('/disk.img', {
      body,
      etag: '"same"',
      breaks: (count) => (count < 6 ? 200_000 : undefined),
    });
    const liar = mirror.add('/disk.img', { body: contentOf('other', SIZE), etag: '"other"' });
    // The limit keeps the download from ending before the second source is judged.
    const gid = await add({ urls: [url, liar], limit: 100_000 });
    const second = async () => (await page.call('millrace.detail', { gid })).sources[1]?.state;
    await becomes(second, 'quarantined');
    await page.call('millrace.change', { gid, limit: null });
    await daemon.reaches(gid, 'complete');
    const { sources, map } = await page.call('millrace.detail', { gid });
    expect(sources[0]?.resets).toBeGreaterThan(0);
    expect(sources[1]).toMatchObject({ state: 'quarantined', reasonCode: 'different-file' });
    expect(new Set(map.by)).toEqual(new Set([0]));
  });

  test('undoes a removal, and gets back everything that was there', async () => {
    const url = origin.add('/long.bin', { body: contentOf('long', SIZE), etag: '"a"' });
    const gid = await add({ urls: [url], limit: 50_000 });
    await daemon.partly(gid);
    await page.watch();
    const removal = { gids: [gid], forget: true, now: false };
    const { undo } = await page.call('millrace.remove', removal);
    expect((await list({ text: 'long.bin' })).total).toBe(0);
    await until(() => page.updates.some(({ gone }) => gone?.includes(gid)));
    expect(await page.call('millrace.undoRemove', { undo })).toEqual({ gids: [gid] });
    await page.call('millrace.changeMany', { gids: [gid], limit: null });
    const { receivedBytes } = await daemon.reaches(gid, 'complete');
    // The bytes from before the removal were not fetched again.
    expect(receivedBytes).toBeLessThan(SIZE * 1.05);
    await expect(page.call('millrace.undoRemove', { undo })).rejects.toMatchObject({
      data: { code: 'wrong-state' },
    });
  });

  test('tests edges, and downloads through those that are set up', async () => {
    const edge = await EdgeProcess.start(['--name', 'paris', '--allow-origin', '127.0.0.1']);
    try {
      const test = await page.call('millrace.testEdge', { url: edge.url });
      expect(test).toMatchObject({ ok: true, draining: false });
      expect(test.rttMs).toBeGreaterThan(0);
      const wrong = await page.call('millrace.testEdge', { url: origin.url('/') });
      expect(wrong).toMatchObject({ ok: false, problem: 'not-an-edge' });
      await page.call('millrace.addEdge', { url: edge.url, name: 'here' });
      const body = contentOf('edge', 2_000_000);
      const gid = await add({
        urls: [origin.add('/edge.bin', { body, etag: '"e"' })],
        useEdges: true,
      });
      await daemon.reaches(gid, 'complete');
      const { sources } = await page.call('millrace.detail', { gid });
      expect(sources[0]).toMatchObject({ kind: 'edge', label: `${edge.url}/` });
      await page.call('millrace.removeEdge', { url: edge.url });
    } finally {
      await edge.stop();
    }
  });

  test('hears of settings that another page has changed; a restart keeps them and the session', async () => {
    const { cookie } = await logIn(daemon.port, { token: daemon.token });
    const other = await PageSocket.open(daemon.port, cookie);
    await page.watch();
    const change = { appearance: { theme: 'dark' }, language: 'de', limits: { concurrent: 7 } };
    await other.call('millrace.setSettings', change);
    const heard = (update: LiveUpdate) => update.settings?.appearance.theme === 'dark';
    await until(() => page.updates.some(heard));
    const { port } = daemon;
    await daemon.stop();
    await other.closed;
    daemon = await start(port);
    const again = await PageSocket.open(port, cookie);
    const settings = await again.call('millrace.getSettings');
    expect(settings).toMatchObject({ language: 'de', limits: { concurrent: 7 } });
    again.close();
  });
});

function isPartly({ stored }: DownloadDetail['map']): boolean {
  return stored.some((cell) => cell > 0) && stored.some((cell) => cell < 100);
}
