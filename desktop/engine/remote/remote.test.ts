/** Attacks on a daemon that serves other machines, and its use, over real sockets. */

import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { WebSocket } from 'ws';
import { HOST, ORIGIN, PASSWORD, PROXIED, RemoteStage } from '../../testing/remote-stage.ts';
import { startDaemon } from '../daemon/daemon.ts';
import { removeAccount, setAccount } from './accounts.ts';

const stage = new RemoteStage();
const { send, logIn, pair, call, loggedIn, locally, newCode, paired, upgraded } = stage;
/** Fields of a page that has logged in. */
let page: Record<string, string>;

beforeAll(async () => {
  await stage.begin();
  page = await loggedIn();
});
beforeEach(() => {
  stage.number++;
});
afterAll(() => stage.end());

const unauthorized = { status: 400, error: { message: 'Unauthorized' } };

describe('people', () => {
  test('log in, use the daemon, and log out, which ends the cookie', async () => {
    const { status, headers } = await logIn({ name: 'ann', password: PASSWORD });
    expect(status).toBe(204);
    expect(headers['set-cookie']?.[0]).toMatch(
      /^__Host-millrace-session=[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
    );
    const page = await loggedIn();
    expect(await call('millrace.list', {}, page)).toMatchObject({ result: { total: 0 } });
    expect((await send({ method: 'GET', path: '/session', headers: page })).status).toBe(204);
    await send({ method: 'DELETE', path: '/session', headers: page });
    expect(await call('millrace.list', {}, page)).toMatchObject(unauthorized);
    const { status: after, headers: told } = await send({
      method: 'GET',
      path: '/session',
      headers: page,
    });
    expect([after, told['millrace-login']]).toEqual([401, 'account']);
  });

  test.each([
    [{ name: 'ann', password: `${PASSWORD} ` }, 401],
    [{ name: 'bob', password: PASSWORD }, 401],
    [{ name: 'ann', password: '' }, 401],
    [{ name: 'ann' }, 400],
    [{ token: 'x' }, 400],
    [{ pairingCode: 'AAAA-AAAA' }, 401],
  ])('do not log in with %j', async (given, status) => {
    const answer = await logIn(given);
    expect(answer.status).toBe(status);
    expect(answer.headers['set-cookie']).toBeUndefined();
  });
});

describe('devices', () => {
  test('are paired by a code, once, and use the daemon with their token', async () => {
    const code = await newCode();
    const { status, text } = await pair(code.toLowerCase().replace('-', ' '), {
      from: '192.0.2.9',
    });
    expect(status).toBe(200);
    expect((await pair(code)).status).toBe(401);
    const headers = { authorization: `Bearer ${JSON.parse(text).token}` };
    expect((await call('millrace.list', {}, headers)).status).toBe(200);
    const body = JSON.stringify({
      id: 1,
      method: 'aria2.getVersion',
      params: [`token:${JSON.parse(text).token}`],
    });
    expect((await send({ body })).status).toBe(200);
    const { devices } = await locally<{ devices: object[] }>('millrace.devices');
    expect(devices[0]).toMatchObject({ kind: 'device', name: 'phone', you: false });
  });

  test('are revoked at once, also while they are connected', async () => {
    const headers = { ...(await paired()), host: HOST };
    const socket = new WebSocket(`ws://127.0.0.1:${stage.daemon.remotePort}/jsonrpc`, { headers });
    await once(socket, 'open');
    const closed = once(socket, 'close');
    const { devices } = await locally<{ devices: { id: string }[] }>('millrace.devices');
    await locally('millrace.revokeDevice', { id: devices[0]?.id });
    expect((await closed)[0]).toBe(4401);
    expect(await call('millrace.list', {}, headers)).toMatchObject(unauthorized);
  });

  test('pair no others, and change no settings', async () => {
    const headers = await paired();
    for (const method of ['pairingCode', 'devices', 'setSettings', 'setCategories', 'setDepot']) {
      expect(await call(`millrace.${method}`, {}, headers)).toMatchObject({
        error: { data: { code: 'not-remote' } },
      });
    }
  });

  test('a phone’s browser logs in by a code as well', async () => {
    const { status, headers } = await logIn({ pairingCode: await newCode() });
    expect(status).toBe(204);
    const cookie = headers['set-cookie']?.[0]?.split(';')[0] ?? '';
    expect((await call('millrace.list', {}, { cookie, origin: ORIGIN })).status).toBe(200);
  });
});

describe('attacks', () => {
  test.each(['evil.example', `${HOST}.evil.example`, '127.0.0.1', 'localhost', `${HOST}:80`])(
    'DNS rebinding: the Host %s is refused, for calls, pages and log-ins',
    async (host) => {
      for (const path of ['/', '/jsonrpc', '/session', '/pair', '/outgoing/x']) {
        expect((await send({ path, headers: { ...page, host } })).status).toBe(403);
      }
    },
  );

  test.each<Record<string, string>>([
    { origin: 'https://evil.example' },
    { origin: `http://${HOST}` },
    { origin: `${ORIGIN}:444` },
    { origin: 'null' },
    // One of ours, but not the one that was asked: its page is another web origin.
    { origin: 'https://nas.local:8443' },
  ])('CSRF: a page of %j changes nothing with the user’s cookie', async (other) => {
    const { cookie = '' } = page;
    const { status, error } = await call('millrace.list', {}, { cookie, ...other });
    expect([status, error]).toEqual([403, undefined]);
    expect((await logIn({ name: 'ann', password: PASSWORD }, { headers: other })).status).toBe(403);
    expect(await upgraded({ cookie, ...other })).toMatch(/^HTTP\/1\.1 403 /);
  });

  test.each(['cross-site', 'same-site'])('CSRF: a form of a %s page is refused', async (site) => {
    const { cookie = '' } = page;
    const headers = { cookie, 'sec-fetch-site': site };
    expect((await send({ headers, body: '{}' })).status).toBe(403);
    expect((await send({ method: 'GET', path: '/', headers })).status).toBe(403);
    const link = { ...headers, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
    expect((await send({ method: 'GET', path: '/', headers: link })).status).not.toBe(403);
  });

  test('CSRF: the cookie alone, without the page’s origin, opens nothing', async () => {
    const { cookie = '' } = page;
    expect(await call('millrace.list', {}, { cookie })).toMatchObject(unauthorized);
    expect((await send({ method: 'PUT', path: '/outgoing/x', headers: { cookie } })).status).toBe(
      401,
    );
    const plain = { 'content-type': 'text/plain', origin: ORIGIN };
    const body = JSON.stringify({ name: 'ann', password: PASSWORD });
    expect((await send({ path: '/session', headers: plain, body })).status).toBe(400);
    expect((await send({ method: 'GET', headers: { cookie } })).status).toBe(405);
  });

  test('an extension’s page calls with a token, and never with the user’s cookie', async () => {
    const origin = 'chrome-extension://abcdefghijklmnop';
    const { cookie = '' } = page;
    expect(await call('millrace.list', {}, { cookie, origin })).toMatchObject(unauthorized);
    const headers = { ...(await paired()), origin };
    expect((await call('millrace.list', {}, headers)).status).toBe(200);
  });

  test('the daemon’s own token opens nothing from another machine', async () => {
    const headers = { authorization: `Bearer ${stage.daemon.token}` };
    expect(await call('millrace.list', {}, headers)).toMatchObject(unauthorized);
    const body = JSON.stringify({
      id: 1,
      method: 'system.multicall',
      params: [[{ methodName: 'aria2.getVersion', params: [`token:${stage.daemon.token}`] }]],
    });
    expect(JSON.parse((await send({ body })).text).result).toEqual([
      { code: 1, message: 'Unauthorized' },
    ]);
    expect((await logIn({ token: stage.daemon.token })).status).toBe(400);
  });

  test('and what opens the side for other machines opens nothing on loopback', async () => {
    const port = Number(new URL(stage.daemon.url).port);
    const { cookie = '' } = page;
    const host = `127.0.0.1:${port}`;
    for (const headers of [await paired(), { cookie, origin: `http://${host}` }]) {
      const body = JSON.stringify({ id: 1, method: 'millrace.list', params: [] });
      expect(await send({ port, headers: { host, ...headers }, body })).toMatchObject({
        status: 400,
      });
    }
    const headers = { host: HOST };
    expect((await send({ port, headers, body: '{}' })).status).toBe(403);
  });

  test('guesses make their address wait, and nobody else', async () => {
    // A slow machine may take longer for a guess than the first waits last.
    const until429 = async (guess: () => Promise<{ status: number }>, most: number) => {
      let status = 401;
      for (let i = 0; i < most && status === 401; i++) ({ status } = await guess());
      return status;
    };
    const wrong = { name: 'ann', password: 'wrong' };
    const from = '203.0.113.5';
    for (let i = 0; i < 4; i++) expect((await logIn(wrong, { from })).status).toBe(401);
    expect(await until429(() => logIn(wrong, { from }), 8)).toBe(429);
    expect(await until429(() => pair('AAAA-AAAA', { from }), 4)).toBe(429);
    // The client wrote the first address itself; the proxy has added the second one.
    const chain = `203.0.113.6, ${from}`;
    expect(await until429(() => logIn(wrong, { from: chain }), 4)).toBe(429);
    const right = { name: 'ann', password: PASSWORD };
    expect((await logIn(right, { from: '203.0.113.6' })).status).toBe(204);
  });

  test('guesses that are sent together are not compared together', async () => {
    const all = Array.from({ length: 12 }, () =>
      logIn({ name: 'ann', password: 'wrong' }, { from: '203.0.113.7' }),
    );
    const statuses = (await Promise.all(all)).map(({ status }) => status);
    expect(statuses).toContain(429);
    expect(statuses.filter((status) => status === 401).length).toBeLessThan(12);
  });

  test('oversize: large log-ins and calls are cut off, and the daemon goes on', async () => {
    const big = { name: 'ann', password: 'x'.repeat(100_000) };
    expect((await logIn(big)).status).toBe(400);
    const body = 'x'.repeat(17 * 1024 * 1024);
    const status = await send({ body }).then(
      (answer) => answer.status,
      (error) => error.code,
    );
    expect([413, 'ECONNRESET', 'EPIPE']).toContain(status);
    expect((await logIn({ name: 'ann', password: PASSWORD })).status).toBe(204);
  });

  test('slow clients that hold connections keep nobody out', async () => {
    const held = Array.from({ length: 300 }, () =>
      connect(stage.daemon.remotePort ?? 0, '127.0.0.1'),
    );
    for (const socket of held) {
      socket.on('error', () => {});
      socket.write('POST /session HTTP/1.1\r\nHost: nas.example\r\nX');
    }
    await Promise.all(held.map((socket) => once(socket, 'connect')));
    expect((await logIn({ name: 'ann', password: PASSWORD })).status).toBe(204);
    expect(await locally('millrace.list')).toMatchObject({ total: 0 });
    for (const socket of held) socket.destroy();
  });

  test.each([
    ['millrace.shutdown', {}],
    ['millrace.loginLink', {}],
    ['millrace.loginPage', {}],
    ['millrace.stream', { gid: 'a' }],
    ['millrace.offerFile', { path: '/etc/passwd' }],
    ['millrace.share', { path: '/etc/passwd' }],
    ['millrace.add', { urls: ['http://a.example/x'], dir: '/etc' }],
    ['millrace.add', { urls: ['http://a.example/x'], cookieFile: '/etc/passwd' }],
    ['millrace.add', { urls: ['http://a.example/x'], netrc: true }],
    ['millrace.import', { text: 'http://a.example/x', trusted: true }],
    ['millrace.export', { format: 'json', secrets: true }],
    ['millrace.setSettings', { dir: '/etc' }],
    ['millrace.getAfter', {}],
    ['millrace.setAfter', { commands: [{ name: 'a', args: ['/bin/sh'] }] }],
    ['millrace.whenDone', { what: 'shutdown' }],
    ['millrace.add', { urls: ['http://a.example/x'], after: { run: 'a' } }],
    ['millrace.addMany', { downloads: [{ urls: ['http://a.example/x'], after: { run: 'a' } }] }],
    ['aria2.shutdown', {}],
    ['aria2.changeGlobalOption', { dir: '/etc' }],
  ])('%s with %j is refused, even to people who have logged in', async (method, params) => {
    expect(await call(method, params, page)).toMatchObject({
      error: { data: { code: 'not-remote' } },
    });
    const inside = { methodName: method, params: [params] };
    const multi = JSON.stringify({ id: 1, method: 'system.multicall', params: [[inside]] });
    const { text } = await send({ body: multi, headers: page });
    expect(JSON.parse(text).result[0].message).toMatch(/^Not allowed from another machine/);
    expect(await locally('millrace.list')).toMatchObject({ total: 0 });
  });
});

test('the page of other machines connects to no other host', async () => {
  const { headers } = await send({ method: 'GET', path: '/' });
  expect(headers['content-security-policy']).toContain(`connect-src 'self' wss://${HOST};`);
  expect(headers['x-frame-options']).toBe('DENY');
});

// Each of these starts the daemon anew, or changes its accounts, so they come last.
describe('a daemon', () => {
  test('does not start without an account, nor with a certificate that cannot be used', async () => {
    await stage.daemon.close();
    const tls = { cert: join(stage.state, 'none.crt'), key: join(stage.state, 'none.key') };
    await expect(stage.start({ ...PROXIED, proxies: [], tls })).rejects.toThrow(/cannot be read/);
    await removeAccount(stage.state, 'ann');
    await expect(stage.start()).rejects.toThrow(/needs an account/);
    await setAccount(stage.state, 'ann', PASSWORD);
    await stage.start();
  });

  test('knows who has logged in when it starts again, until their account is gone', async () => {
    const page = await loggedIn();
    await stage.daemon.close();
    await stage.start();
    expect((await call('millrace.list', {}, page)).status).toBe(200);
    await removeAccount(stage.state, 'ann');
    expect(await call('millrace.list', {}, page)).toMatchObject(unauthorized);
    await setAccount(stage.state, 'ann', PASSWORD);
  });

  test('knows devices that a person has paired until the account has another password', async () => {
    const { result } = await call('millrace.pairingCode', {}, await loggedIn());
    const { text } = await pair((result as { code: string }).code);
    const headers = { authorization: `Bearer ${JSON.parse(text).token}` };
    expect((await call('millrace.list', {}, headers)).status).toBe(200);
    await setAccount(stage.state, 'ann', `${PASSWORD} new`);
    expect(await call('millrace.list', {}, headers)).toMatchObject(unauthorized);
    await setAccount(stage.state, 'ann', PASSWORD);
  });

  test('behind a reverse proxy lets nobody go around it', async () => {
    await stage.daemon.close();
    await stage.start({ ...PROXIED, proxies: ['192.0.2.1'] });
    for (const path of ['/', '/jsonrpc', '/session', '/pair']) {
      expect((await send({ path, from: '192.0.2.1' })).status).toBe(403);
    }
    expect(await upgraded({})).toMatch(/^HTTP\/1\.1 403 /);
  });

  test('that serves no other machines has no codes', async () => {
    await stage.daemon.close();
    stage.daemon = await startDaemon({ state: stage.state, dir: stage.state, port: 0 });
    expect(stage.daemon.remotePort).toBeUndefined();
    expect(await locally('millrace.devices')).toEqual({ url: null, devices: [] });
    expect(await locally('millrace.pairingCode')).toBeUndefined();
  });
});
