/** The daemon as a page sees it: its files, log-in, and refused callers. */

import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { logIn, ownOrigin, PageSocket, send } from '../../fixtures/pages/page-client.ts';
import { DaemonProcess } from '../../fixtures/programs/daemon.ts';
import { temporaryFolder } from '../../fixtures/programs/processes.ts';
import { until } from '../../fixtures/until.ts';

const SCRIPT = 'console.log("ü")';
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let daemon: DaemonProcess;

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
  daemon = await DaemonProcess.start(folder.path, ['--page', join(folder.path, 'page')]);
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
