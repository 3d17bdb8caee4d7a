/** The daemon as a page sees it: log-in, refused callers, and live updates. */

import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { DownloadDetail } from '@millrace/shared/bridge/rpc/detail-api';
import type { LiveUpdate } from '@millrace/shared/bridge/rpc/live-api';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { FileServer } from '../../fixtures/origins/file-server.ts';
import { freePorts } from '../../fixtures/origins/nginx.ts';
import { logIn, ownOrigin, PageSocket, send } from '../../fixtures/pages/page-client.ts';
import { DaemonProcess } from '../../fixtures/programs/daemon.ts';
import { EdgeProcess, temporaryFolder } from '../../fixtures/programs/processes.ts';
import { becomes, until } from '../../fixtures/until.ts';

const SCRIPT = 'console.log("ü")';
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let daemon: DaemonProcess;

/** Starts a daemon, at a port where it can be started again unless one is given. */
const start = async (port?: number) =>
  DaemonProcess.start(folder.path, [
    ...['--page', join(folder.path, 'page'), '--port', String(port ?? (await freePorts()))],
  ]);
const rpc = (headers: Record<string, string>) =>
  send(daemon.port, {
    method: 'POST',
    path: '/jsonrpc',
    headers,
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'millrace.info', params: [] }),
  });

beforeAll(async () => {
  folder = await temporaryFolder();
  const assets = join(folder.path, 'page', 'assets');
  await mkdir(assets, { recursive: true });
  await writeFile(join(folder.path, 'page', 'index.html'), '<!doctype html><title>M</title>');
  await writeFile(join(assets, 'app-1a2b3c4d.js'), SCRIPT);
  daemon = await start();
});
afterAll(async () => {
  await daemon.stop();
  await folder.remove();
});

describe('the page', () => {
  test('is served to everybody on this machine, and may load nothing from elsewhere', async () => {
    const { status, headers, text } = await send(daemon.port, {});
    expect({ status, text }).toEqual({ status: 200, text: '<!doctype html><title>M</title>' });
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    });
    const policy = String(headers['content-security-policy']);
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|\*/);
    const again = await send(daemon.port, { headers: { 'if-none-match': String(headers.etag) } });
    expect(again).toMatchObject({ status: 304, text: '' });
  });

  test('lets files with a digest in their names be kept for ever', async () => {
    const path = '/assets/app-1a2b3c4d.js';
    const { headers, text } = await send(daemon.port, { path });
    expect(text).toBe(SCRIPT);
    expect(headers['cache-control']).toContain('immutable');
    expect(headers['content-type']).toMatch(/^text\/javascript/);
    const head = await send(daemon.port, { method: 'HEAD', path });
    expect(head).toMatchObject({ status: 200, text: '' });
    expect(head.headers['content-length']).toBe(String(Buffer.byteLength(SCRIPT)));
  });

  test.each([
    '/../state/daemon-token',
    '/%2e%2e/state/daemon-token',
    '/assets/..%2f..%2f..%2fstate/daemon-token',
    '/assets/%5c..%5c..%5cstate%5cdaemon-token',
    '//etc/passwd',
    '/assets',
    '/nothing',
    '/%',
    '/%00',
  ])('%s is not served', async (path) => {
    const { status, text } = await send(daemon.port, { path });
    expect([400, 403, 404]).toContain(status);
    expect(text).not.toContain(daemon.token);
  });

  test.each<Record<string, string>>([
    { host: 'evil.example' },
    { origin: 'https://evil.example' },
    { origin: 'http://127.0.0.1:1' },
    { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'script' },
    { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' },
  ])('is not served to a request with %j', async (headers) => {
    expect((await send(daemon.port, { headers })).status).toBe(403);
  });

  test('can be reached by a link from anywhere', async () => {
    const headers = {
      'sec-fetch-site': 'cross-site',
      'sec-fetch-mode': 'navigate',
      'sec-fetch-dest': 'document',
    };
    expect((await send(daemon.port, { headers })).status).toBe(200);
  });
});

describe('log-in', () => {
  test('with the token gives a cookie that no script can read and no other site can use', async () => {
    const { status, headers, cookie } = await logIn(daemon.port, { token: daemon.token });
    expect(status).toBe(204);
    expect(headers['set-cookie']?.[0]).toMatch(
      /^millrace-session-\d+=[\w-]{22}; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Strict$/,
    );
    const session = (fields: Record<string, string>) =>
      send(daemon.port, { path: '/session', headers: fields });
    expect((await session({ cookie })).status).toBe(204);
    expect((await session({})).status).toBe(401);
    expect((await session({ cookie: `${cookie}x` })).status).toBe(401);
  });

  test('a link logs in once', async () => {
    const { url } = await daemon.call('millrace.loginLink');
    expect(url.startsWith(`${ownOrigin(daemon.port)}/#code=`)).toBe(true);
    const code = url.slice(url.indexOf('=') + 1);
    expect((await logIn(daemon.port, { code })).status).toBe(204);
    expect((await logIn(daemon.port, { code })).status).toBe(401);
    expect((await logIn(daemon.port, { code, page: 'x'.repeat(16) })).status).toBe(401);
    await logIn(daemon.port, { token: daemon.token });
  });

  test('the page of a link may send its code again, as when the answer was lost', async () => {
    const { url } = await daemon.call('millrace.loginLink');
    const code = url.slice(url.indexOf('=') + 1);
    const given = { code, page: randomBytes(16).toString('hex') };
    expect((await logIn(daemon.port, given)).status).toBe(204);
    const { status, cookie } = await logIn(daemon.port, given);
    expect(status).toBe(204);
    const page = await PageSocket.open(daemon.port, cookie);
    page.close();
    for (const other of [{ code }, { code, page: randomBytes(16).toString('hex') }, given])
      expect((await logIn(daemon.port, other)).status).toBe(401);
    await logIn(daemon.port, { token: daemon.token });
  });

  test('only a holder of the token gets a link that logs in', async () => {
    const { cookie } = await logIn(daemon.port, { token: daemon.token });
    const page = await PageSocket.open(daemon.port, cookie);
    await expect(page.call('millrace.loginLink')).rejects.toMatchObject({ code: 1 });
    page.close();
  });

  test.each([
    ['of another site', { origin: 'https://evil.example' }, 403],
    ['of another port', { origin: 'http://127.0.0.1:1' }, 403],
    [
      'of a name that leads here',
      { host: 'rebound.example', origin: 'http://rebound.example' },
      403,
    ],
    ['that sends a form', { 'content-type': 'text/plain' }, 400],
  ])('a page %s cannot log in', async (_who, headers, status) => {
    expect(await logIn(daemon.port, { token: daemon.token }, headers)).toMatchObject({
      status,
      cookie: '',
    });
  });

  test('wrong guesses are slowed down, and the right token gets in later', async () => {
    const statuses: number[] = [];
    let last = await logIn(daemon.port, { token: 'x' });
    while (last.status === 401 && statuses.length < 10) {
      statuses.push(last.status);
      last = await logIn(daemon.port, { token: 'x' });
    }
    expect(last.status).toBe(429);
    expect(Number(last.headers['retry-after'])).toBeGreaterThan(0);
    expect(statuses.length).toBeLessThan(10);
    await until(async () => (await logIn(daemon.port, { token: daemon.token })).status === 204);
  });
});

describe('a cookie', () => {
  let cookie: string;
  beforeEach(async () => {
    ({ cookie } = await logIn(daemon.port, { token: daemon.token }));
  });

  test('is accepted from our own page', async () => {
    expect((await rpc({ cookie, origin: ownOrigin(daemon.port) })).status).toBe(200);
  });

  test.each<[string, Record<string, string>, number]>([
    ['no page at all', {}, 400],
    ['another site', { origin: 'https://evil.example' }, 403],
    ['another port of this machine', { origin: 'http://127.0.0.1:1' }, 403],
    ['a page without an origin', { origin: 'null' }, 403],
    ['a name that was made to lead here', { host: 'x.example', origin: 'http://x.example' }, 403],
  ])('is refused from %s', async (_who, headers, status) => {
    expect((await rpc({ cookie, ...headers })).status).toBe(status);
  });

  test('is refused when Origin and Host name the daemon differently', async () => {
    const origin = `http://localhost:${daemon.port}`;
    expect((await rpc({ cookie, origin })).status).toBe(400);
    expect((await rpc({ cookie, origin, host: `localhost:${daemon.port}` })).status).toBe(200);
  });

  test('opens no WebSocket for other pages', async () => {
    await expect(PageSocket.open(daemon.port, cookie, 'http://127.0.0.1:1')).rejects.toThrow();
    const stranger = await PageSocket.open(daemon.port, '');
    await expect(stranger.call('millrace.info')).rejects.toMatchObject({ code: 1 });
    stranger.close();
  });

  test('is valid until log-out, which closes its connections', async () => {
    const page = await PageSocket.open(daemon.port, cookie);
    const headers = { cookie, origin: ownOrigin(daemon.port) };
    await send(daemon.port, { method: 'DELETE', path: '/session', headers });
    expect(await page.closed).toBe(4401);
    expect((await rpc(headers)).status).toBe(400);
  });
});

describe('a page that is logged in', () => {
  const SIZE = 6_000_000;
  let origin: FileServer;
  let mirror: FileServer;
  let page: PageSocket;
  const downloads = () => join(folder.path, 'downloads');

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
