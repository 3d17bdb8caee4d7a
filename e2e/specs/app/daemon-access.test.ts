/** Access to the daemon: only with the token, and only from pages that the user has allowed. */

import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { VERSION } from '@millrace/shared/base/version';
import { WebSocket } from 'undici';
import { logIn, type Sent, send as sendTo } from '../../fixtures/pages/page-client.ts';
import { DaemonProcess } from '../../fixtures/programs/daemon.ts';
import { temporaryFolder } from '../../fixtures/programs/processes.ts';
import { until } from '../../fixtures/until.ts';

const PAGE = 'https://page.example';
const folder = await temporaryFolder();
const daemon = await DaemonProcess.start(folder.path, ['--allow-origin', PAGE]);
afterAll(async () => {
  await daemon.stop();
  await folder.remove();
});

const call = (token: string | undefined, method = 'aria2.getVersion') =>
  JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method,
    params: token === undefined ? [] : [`token:${token}`],
  });

/** Sends a request with just these fields, by default a call of JSON-RPC. */
const send = (sent: Sent) => sendTo(daemon.port, { method: 'POST', path: '/jsonrpc', ...sent });

test.each(['//', '//x:y/', '/%', '/jsonrpc/../x'])(
  'a target that is not a URL is answered, and the daemon keeps running: %s',
  async (path) => {
    const { host } = new URL(daemon.url);
    expect((await send({ path, headers: { host }, body: '' })).status).toBe(405);
    const socket = connect(daemon.port, '127.0.0.1');
    socket.write(
      `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
    );
    const [answer] = await once(socket, 'data');
    expect(String(answer)).toMatch(/^HTTP\/1\.1 404 /);
    socket.destroy();
    expect((await send({ body: call(daemon.token) })).status).toBe(200);
  },
);

describe('the token', () => {
  test.each([
    ['none', undefined],
    ['an empty one', ''],
    ['a wrong one', 'x'.repeat(43)],
    ['the right one with something after it', `${daemon.token}x`],
  ])('%s is refused', async (_name, token) => {
    const { status, text } = await send({ body: call(token) });
    expect(status).toBe(400);
    expect(JSON.parse(text).error).toEqual({ code: 1, message: 'Unauthorized' });
  });

  test('the right one is let in, as a parameter or in a field', async () => {
    expect((await send({ body: call(daemon.token) })).status).toBe(200);
    const headers = { authorization: `Bearer ${daemon.token}` };
    expect((await send({ headers, body: call(undefined) })).status).toBe(200);
    const wrong = { authorization: 'Bearer nonsense' };
    expect((await send({ headers: wrong, body: call(undefined) })).status).toBe(400);
  });

  test.each(['millrace.list', 'millrace.shutdown', 'aria2.addUri', 'aria2.shutdown'])(
    'without it %s does nothing',
    async (method) => {
      expect((await send({ body: call(undefined, method) })).status).toBe(400);
      expect(await daemon.call('millrace.list')).toMatchObject({ total: 0 });
    },
  );

  test('calls inside a multicall need it too', async () => {
    const calls = [{ methodName: 'aria2.getVersion', params: [] }];
    const body = JSON.stringify({ id: 1, method: 'system.multicall', params: [calls] });
    const { text } = await send({ body });
    expect(JSON.parse(text).result).toEqual([{ code: 1, message: 'Unauthorized' }]);
  });

  test('and the address are in files that only the user can read', async () => {
    for (const name of ['daemon-token', 'daemon.json', 'downloads.db']) {
      const { mode } = await stat(join(folder.path, 'state', name));
      expect(mode & 0o777).toBe(0o600);
    }
  });
});

describe('Host', () => {
  const host = (value: string) => send({ headers: { host: value }, body: call(daemon.token) });

  test.each(['127.0.0.1', 'localhost', 'LOCALHOST', '[::1]'])('%s is accepted', async (name) => {
    expect((await host(`${name}:${daemon.port}`)).status).toBe(200);
  });

  test.each([
    `evil.example:${daemon.port}`,
    `localhost.evil.example:${daemon.port}`,
    `127.0.0.1.evil.example:${daemon.port}`,
    `evil@localhost:${daemon.port}`,
    'localhost:1',
    'localhost',
  ])('"%s" is refused', async (value) => {
    expect((await host(value)).status).toBe(403);
  });
});

describe('pages in browsers', () => {
  test.each<Record<string, string>>([
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: 'http://localhost:1' },
    { origin: `https://127.0.0.1:${daemon.port}` },
    { origin: 'chrome-extension://abcdef' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
  ])('%j is refused, even with the token', async (headers) => {
    expect((await send({ headers, body: call(daemon.token) })).status).toBe(403);
    const preflight = await send({ method: 'OPTIONS', headers });
    expect(preflight.status).toBe(403);
    expect(preflight.headers['access-control-allow-origin']).toBeUndefined();
    const asked = { ...headers, authorization: `Bearer ${daemon.token}` };
    expect(await upgrade(asked)).toMatch(/^HTTP\/1\.1 403 /);
  });

  test('a page that the user has allowed is let in, with the token', async () => {
    const headers = { origin: PAGE };
    const answer = await send({ headers, body: call(daemon.token) });
    expect(answer.status).toBe(200);
    expect(answer.headers['access-control-allow-origin']).toBe(PAGE);
    expect((await send({ method: 'OPTIONS', headers })).status).toBe(204);
    expect((await send({ headers, body: call(undefined) })).status).toBe(400);
  });

  test('GET, and with it JSONP, is answered with the token alone, and to no page', async () => {
    const query = (token: string) => {
      const params = Buffer.from(JSON.stringify([`token:${token}`])).toString('base64');
      return `/jsonrpc?method=aria2.getVersion&id=1&params=${encodeURIComponent(params)}`;
    };
    const get = (path: string, headers = {}) => send({ method: 'GET', path, headers });
    const answer = await get(query(daemon.token));
    expect(JSON.parse(answer.text)).toMatchObject({ id: '1', result: { version: VERSION } });
    expect((await get(query('wrong'))).text).toMatch(/Unauthorized/);
    const script = await get(`${query(daemon.token)}&jsoncallback=a.b`);
    expect(script.text).toMatch(/^\/\*\*\/a\.b\(\{.*"version".*\}\);$/);
    expect(script.headers).toMatchObject({ 'x-content-type-options': 'nosniff' });
    expect((await get(`${query(daemon.token)}&jsoncallback=alert(1)`)).status).toBe(400);
    for (const site of ['cross-site', 'same-site']) {
      const headers = { 'sec-fetch-site': site };
      expect((await get(query(daemon.token), headers)).status).toBe(403);
    }
    const { cookie } = await logIn(daemon.port, { token: daemon.token });
    expect(cookie).not.toBe('');
    const bare = '/jsonrpc?method=aria2.getVersion&id=1';
    expect((await get(bare, { cookie })).text).toMatch(/Unauthorized/);
  });

  test('calls are taken at no other path', async () => {
    expect((await send({ path: '/', body: call(daemon.token) })).status).toBe(405);
    expect((await send({ path: '/jsonrpc/x', body: call(daemon.token) })).status).toBe(405);
  });
});

describe('limits', () => {
  test('XML above the limit of aria2 is not read', async () => {
    const answer = await send({ path: '/rpc', body: `<methodCall>${' '.repeat(2_100_000)}` });
    expect(answer).toMatchObject({ status: 413, text: 'XML has at most 2097152 bytes\n' });
    expect((await send({ path: '/rpc', body: '<methodCall>' })).status).toBe(400);
  });

  test('a body above the limit is cut off', async () => {
    const body = 'x'.repeat(17 * 1024 * 1024);
    const status = await send({ body }).then(
      (answer) => answer.status,
      // The daemon may close the connection before the whole body is sent.
      (error) => error.code,
    );
    expect([413, 'ECONNRESET', 'EPIPE']).toContain(status);
    expect(await daemon.call('aria2.getVersion')).toMatchObject({ version: expect.anything() });
  });

  const strange = () => new WebSocket(daemon.url.replace('http:', 'ws:'));
  const known = () => {
    const headers = { authorization: `Bearer ${daemon.token}` };
    return new WebSocket(daemon.url.replace('http:', 'ws:'), { headers });
  };

  test.each([
    ['3 MiB of a stranger', strange, 3],
    ['17 MiB of one who has shown the token', known, 17],
  ])(
    'a message that is too large ends its WebSocket, and nothing else: %s',
    async (_name, open, mib) => {
      const socket = open();
      await once(socket, 'open');
      socket.send('x'.repeat(mib * 1024 * 1024));
      await once(socket, 'close');
      expect(await daemon.call('aria2.getVersion')).toMatchObject({ version: expect.anything() });
    },
  );

  test('strangers who hold WebSockets keep out nobody who has shown the token', async () => {
    const first = known();
    await once(first, 'open');
    const strangers = Array.from({ length: 80 }, strange);
    await Promise.all(strangers.map((socket) => once(socket, 'open')));
    // The daemon closes the oldest ones.
    await until(
      () => strangers.filter(({ readyState }) => readyState === WebSocket.OPEN).length <= 32,
    );
    const others = Array.from({ length: 20 }, known);
    await Promise.all(others.map((socket) => once(socket, 'open')));
    for (const socket of [first, ...others]) {
      socket.send(JSON.stringify({ id: 1, method: 'aria2.getVersion', params: [] }));
      const [{ data }] = await once(socket, 'message');
      expect(JSON.parse(String(data))).toMatchObject({ result: { version: expect.anything() } });
    }
    for (const socket of [first, ...others, ...strangers]) socket.close();
  });

  test('strangers who hold connections keep nobody out', async () => {
    const held = Array.from({ length: 300 }, () => connect(daemon.port, '127.0.0.1'));
    try {
      for (const socket of held) socket.on('error', () => {});
      await Promise.all(held.map((socket) => once(socket, 'connect')));
      expect(await daemon.call('aria2.getVersion')).toMatchObject({ version: expect.anything() });
    } finally {
      for (const socket of held) socket.destroy();
    }
  });

  test('a long message of a client that has shown the token is answered', async () => {
    const socket = known();
    await once(socket, 'open');
    const params = { text: `http://origin.example/a.bin ${'x'.repeat(3 * 1024 * 1024)}` };
    socket.send(
      JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'millrace.none', params: [params] }),
    );
    const [{ data }] = await once(socket, 'message');
    expect(JSON.parse(String(data))).toMatchObject({ id: 7, error: { code: expect.any(Number) } });
    socket.close();
  });

  test('all bodies share a limit: a request beyond it may try again', async () => {
    // These bodies, none of them complete, leave only a few bytes of the shared limit.
    const mib16 = 16 * 1024 * 1024;
    const open = Array.from({ length: 4 }, () => {
      const to = { host: '127.0.0.1', port: daemon.port, method: 'POST', path: '/jsonrpc' };
      const req = request(to);
      req.on('error', () => {});
      req.write('x'.repeat(mib16 - 1));
      return req;
    });
    const answered = async () => (await send({ body: call(daemon.token) })).status;
    // Its answers show that the daemon has received all bodies, and later that it has dropped them.
    await until(async () => (await answered()) === 503);
    for (const req of open) req.destroy();
    await until(async () => (await answered()) === 200);
  });

  test.each(['{', '[1,2', '"x"', 'null', '', '[[[[]]]]', '{"id":1,"method":"a","params":7}'])(
    '%j is answered with an error or nothing, never with a crash',
    async (body) => {
      const { text } = await send({ body });
      const answer = JSON.parse(text);
      expect(Array.isArray(answer) ? answer : [answer.error.code]).not.toContain(0);
      expect(await daemon.call('aria2.getVersion')).toMatchObject({ version: expect.anything() });
    },
  );

  test('a request that is not HTTP is answered with an error', async () => {
    const socket = connect(daemon.port, '127.0.0.1');
    socket.write('this is not HTTP\r\n\r\n');
    const [data] = await once(socket, 'data');
    expect(String(data)).toMatch(/^HTTP\/1\.1 400 /);
    socket.destroy();
  });
});

/** Returns the beginning of the answer to a WebSocket handshake. */
async function upgrade(headers: Record<string, string>): Promise<string> {
  const socket = connect(daemon.port, '127.0.0.1');
  const fields = { host: `127.0.0.1:${daemon.port}`, ...headers };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(
    `GET /jsonrpc HTTP/1.1\r\n${lines.join('')}Connection: Upgrade\r\nUpgrade: websocket\r\n` +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  );
  const [data] = await once(socket, 'data');
  socket.destroy();
  return String(data);
}
