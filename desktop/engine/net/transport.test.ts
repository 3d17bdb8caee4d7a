import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createSocketServer } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { CERTIFICATE, KEY } from '@millrace/shared/testing/certificate';
import { formatProxy, type ProxyServer, parseProxy } from '../proxy/proxy-settings.ts';
import { HttpProxy } from './testing/http-proxy.ts';
import { SocksProxy } from './testing/socks-proxy.ts';
import { Transport, type TransportOptions } from './transport.ts';

/** Certificates that other tests of this process trust. */
const usual = getCACertificates('default');
const distrust = () => setDefaultCACertificates(usual);
beforeEach(() => setDefaultCACertificates([...usual, CERTIFICATE]));
afterAll(distrust);

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** A request as the origin sees it. */
interface Seen {
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
}

/** Starts an origin that answers with its Host; only the proxies know its name. */
async function origin(tls = false): Promise<{ port: number; seen: Seen[] }> {
  const seen: Seen[] = [];
  const server: Server = tls ? createTlsServer({ key: KEY, cert: CERTIFICATE }) : createServer();
  server.on('request', (request, answer) => {
    seen.push({ url: request.url, headers: request.headers });
    answer.end(`this is ${request.headers.host}`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ends.push(async () => {
    server.close();
    server.closeAllConnections();
  });
  return { port: (server.address() as AddressInfo).port, seen };
}

async function httpProxy(...options: Parameters<typeof HttpProxy.start>): Promise<HttpProxy> {
  const proxy = await HttpProxy.start(...options);
  ends.push(() => proxy.stop());
  return proxy;
}

async function socksProxy(...options: Parameters<typeof SocksProxy.start>): Promise<SocksProxy> {
  const proxy = await SocksProxy.start(...options);
  ends.push(() => proxy.stop());
  return proxy;
}

function transport(proxy: string | undefined, options: Partial<TransportOptions> = {}): Transport {
  const made = new Transport({ proxy, env: {}, timeoutMs: 20_000, connections: 4, ...options });
  ends.push(() => made.close());
  return made;
}

async function get(
  via: Transport,
  text: string,
  signal = new AbortController().signal,
): Promise<string> {
  const url = new URL(text);
  const response = await via.get(url, { 'x-own': 'yes' }, signal);
  let body = '';
  await response.pipe((piece) => {
    body += piece.toString('latin1');
    return true;
  });
  return `${response.status} ${body}`;
}

/** Returns the error of a request, and checks that it shows no password. */
async function failure(promise: Promise<unknown>): Promise<{ code: string; detail: string }> {
  const error = await promise.then(
    () => undefined,
    (thrown) => thrown,
  );
  const all = [String(error), JSON.stringify(error), String(error?.cause)].join(' ');
  expect(all).not.toMatch(/secret|c2VjcmV0/);
  return { code: error?.code, detail: error?.detail };
}

describe('directly', () => {
  test('http and https work, and an untrusted certificate is refused', async () => {
    const plain = await origin();
    const secure = await origin(true);
    const direct = transport(undefined);
    expect(await get(direct, `http://127.0.0.1:${plain.port}/`)).toContain('200 this is 127.0.0.1');
    expect(await get(direct, `https://127.0.0.1:${secure.port}/`)).toContain('200 this is');
    distrust();
    const wary = transport(undefined);
    const refused = await failure(get(wary, `https://127.0.0.1:${secure.port}/`));
    expect(refused.code).toBe('certificate-invalid');
    expect(secure.seen).toHaveLength(1);
  });

  test('of a name’s several addresses, the one that answers is found', async () => {
    const { port } = await origin(); // listens at 127.0.0.1 only, while localhost may be ::1 first
    expect(await get(transport(undefined), `http://localhost:${port}/`)).toContain('200');
  });

  test('this machine is not proxied, and "direct" ignores the environment', async () => {
    const { port } = await origin();
    const proxied = transport('http://127.0.0.1:9');
    expect(await proxied.isProxied(new URL('http://127.0.0.1/'))).toBe(false);
    expect(await proxied.isProxied(new URL('http://origin.test/'))).toBe(true);
    expect(await get(proxied, `http://127.0.0.1:${port}/`)).toContain('200');
    const direct = transport('direct', { env: { http_proxy: 'http://127.0.0.1:9' } });
    expect(await direct.isProxied(new URL('http://origin.test/'))).toBe(false);
  });

  test('TLS at a port without TLS is reported as such, without OpenSSL’s words', async () => {
    const { port } = await origin();
    const told = await failure(get(transport(undefined), `https://127.0.0.1:${port}/`));
    expect(told).toEqual({ code: 'no-tls', detail: '' });
  });
});

describe.each([false, true])('through an HTTP proxy (TLS: %s)', (tls) => {
  const url = (proxy: HttpProxy, login = '') =>
    `${tls ? 'https' : 'http'}://${login}localhost:${proxy.port}`;

  test('http:// is forwarded and not tunnelled, and credentials stay with the proxy', async () => {
    const { port, seen } = await origin();
    const proxy = await httpProxy({ tls, login: 'us@er:sec:ret' });
    const via = transport(url(proxy, 'us%40er:sec%3Aret@'));
    expect(await get(via, `http://origin.test:${port}/a?b`)).toBe(
      `200 this is origin.test:${port}`,
    );
    expect(proxy.asked).toEqual([`GET http://origin.test:${port}/a?b`]);
    expect(seen).toHaveLength(1);
    expect(seen[0]?.url).toBe('/a?b');
    expect(seen[0]?.headers).toMatchObject({ 'x-own': 'yes' });
    expect(seen[0]?.headers).not.toHaveProperty('proxy-authorization');
  });

  test('https:// is tunnelled, and the proxy sees nothing of the request', async () => {
    const { port, seen } = await origin(true);
    const proxy = await httpProxy({ tls, login: 'user:secret' });
    const via = transport(url(proxy, 'user:secret@'), { connections: 1 });
    expect(await get(via, `https://origin.test:${port}/`)).toBe(`200 this is origin.test:${port}`);
    expect(await get(via, `https://origin.test:${port}/2`)).toContain('200');
    expect(proxy.asked).toEqual([`CONNECT origin.test:${port}`]); // one connection for both
    expect(proxy.headers[0]).not.toHaveProperty('x-own');
    expect(seen[0]?.headers).not.toHaveProperty('proxy-authorization');
    distrust();
    const wary = transport(url(proxy, 'user:secret@'));
    expect((await failure(get(wary, `https://origin.test:${port}/`))).code).toBe(
      'certificate-invalid',
    );
  });

  test('a certificate of another host is refused, even at the end of a tunnel', async () => {
    const { port, seen } = await origin(true);
    const via = transport(url(await httpProxy({ tls })));
    const told = await failure(get(via, `https://other.test:${port}/`));
    expect(told.code).toBe('certificate-invalid');
    expect(await get(via, `https://origin.test:${port}/`)).toContain('200');
    expect(seen).toHaveLength(1);
  });

  test.each(['', 'user:secret@'])('missing or wrong credentials fail: "%s"', async (login) => {
    const { port, seen } = await origin();
    const proxy = await httpProxy({ tls, login: 'other:one' });
    const via = transport(url(proxy, login));
    for (const scheme of ['http', 'https']) {
      const told = await failure(get(via, `${scheme}://origin.test:${port}/`));
      expect(told.code).toBe('proxy-denied');
      expect(told.detail).toContain(login === '' ? 'asks for' : 'does not accept');
    }
    expect(seen).toHaveLength(0);
  });

  test.each([
    ['denies', 'proxy-denied', 'answered 403'],
    ['busy', 'proxy-failed', 'answered 503'],
    ['nonsense', 'proxy-failed', 'not HTTP'],
    ['hangs-up', 'proxy-failed', 'hung up'],
    ['dies-in-head', 'proxy-failed', 'hung up'],
  ] as const)('a proxy with the fault "%s": %s', async (fault, code, text) => {
    const proxy = await httpProxy({ tls, fault });
    const told = await failure(get(transport(url(proxy, 'u:secret@')), 'https://origin.test/'));
    expect(told).toEqual({ code, detail: expect.stringContaining(text) });
  });

  test('an origin that the proxy cannot reach is reported as a failure of the proxy', async () => {
    const proxy = await httpProxy({ tls });
    const told = await failure(get(transport(url(proxy)), 'https://origin.test:9/'));
    expect(told).toEqual({ code: 'proxy-failed', detail: expect.stringContaining('502') });
  });
});

describe('proxies that cannot be reached', () => {
  test.each(['http', 'https', 'socks4a', 'socks5'])('%s', async (scheme) => {
    const gone = createSocketServer().listen(0, '127.0.0.1');
    await once(gone, 'listening');
    const { port } = gone.address() as AddressInfo;
    gone.close();
    await once(gone, 'close');
    const via = transport(`${scheme}://user:secret@127.0.0.1:${port}`);
    for (const target of ['http://origin.test/', 'https://origin.test/']) {
      const told = await failure(get(via, target));
      expect(told.code).toBe('proxy-failed');
      expect(told.detail).toContain('ECONNREFUSED');
    }
  });

  test('an HTTPS proxy without a trusted certificate gets no request', async () => {
    const proxy = await httpProxy({ tls: true });
    distrust();
    const via = transport(`https://user:secret@localhost:${proxy.port}`);
    for (const target of ['http://origin.test/', 'https://origin.test/']) {
      expect((await failure(get(via, target))).code).toBe('certificate-invalid');
    }
    expect(proxy.asked).toEqual([]);
  });
});

describe('through a SOCKS proxy', () => {
  test.each([
    ['socks5', false, '5 name origin.test'],
    ['socks5h', true, '5 name origin.test'],
    ['socks4a', false, '4 name origin.test'],
    ['socks4a', true, '4 name origin.test'],
  ])('%s (TLS: %s): the proxy looks the name up', async (scheme, tls, asked) => {
    const { port } = await origin(tls);
    const proxy = await socksProxy();
    const via = transport(`${scheme}://127.0.0.1:${proxy.port}`);
    const target = `${tls ? 'https' : 'http'}://origin.test:${port}/`;
    expect(await get(via, target)).toBe(`200 this is origin.test:${port}`);
    expect(proxy.asked).toEqual([asked]);
  });

  test('addresses are passed on unchanged; for SOCKS4, names are looked up here', async () => {
    const { port } = await origin();
    const proxy = await socksProxy();
    const options = { env: { no_proxy: '<-loopback>' } };
    const five = transport(`socks5://127.0.0.1:${proxy.port}`, options);
    expect(await get(five, `http://127.0.0.1:${port}/`)).toContain('200');
    expect(await get(five, `http://[::1]:${port}/`)).toContain('200');
    const four = transport(`socks4://tom@127.0.0.1:${proxy.port}`, options);
    expect(await get(four, `http://localhost:${port}/`)).toContain('200');
    const told = await failure(get(four, `http://[::1]:${port}/`));
    expect(told).toEqual({ code: 'proxy-failed', detail: expect.stringContaining('IPv6') });
    expect(proxy.asked).toEqual([
      '5 address 127.0.0.1',
      `5 address ${'0'.repeat(31)}1`,
      '4 address 127.0.0.1',
    ]);
    expect(proxy.logins).toEqual(['tom']);
  });

  test('user and password are sent, and wrong ones are reported', async () => {
    const { port } = await origin();
    const proxy = await socksProxy({ login: 'us@er:sécret' });
    const target = `http://origin.test:${port}/`;
    const via = (login: string) => transport(`socks5://${login}127.0.0.1:${proxy.port}`);
    expect(await get(via('us%40er:s%C3%A9cret@'), target)).toContain('200');
    for (const login of ['', 'us%40er:secret@']) {
      expect((await failure(get(via(login), target))).code).toBe('proxy-denied');
    }
    expect(proxy.asked).toHaveLength(1);
  });

  test.each([
    ['socks5', 1, 'proxy-failed'],
    ['socks5', 2, 'proxy-denied'],
    ['socks5', 3, 'origin-unreachable'],
    ['socks5', 4, 'origin-unreachable'],
    ['socks5', 5, 'origin-unreachable'],
    ['socks5', 7, 'proxy-failed'],
    ['socks5', 99, 'proxy-failed'],
    ['socks4a', 91, 'proxy-failed'],
    ['socks4a', 93, 'proxy-denied'],
  ])('%s reply %s is %s', async (scheme, reply, code) => {
    const proxy = await socksProxy({ reply });
    const via = transport(`${scheme}://user:secret@127.0.0.1:${proxy.port}`);
    expect((await failure(get(via, 'http://origin.test/'))).code).toBe(code);
  });

  test.each([
    ['socks5', 'hangs-up'],
    ['socks5', 'nonsense'],
    ['socks4a', 'hangs-up'],
    ['socks4a', 'nonsense'],
  ] as const)('%s: a proxy with the fault "%s"', async (scheme, fault) => {
    const proxy = await socksProxy({ fault });
    const via = transport(`${scheme}://user:secret@127.0.0.1:${proxy.port}`);
    expect((await failure(get(via, 'https://origin.test/'))).code).toBe('proxy-failed');
  });
});

describe('silent proxies', () => {
  test.each(['http', 'socks5'])('%s: the request fails at the time limit', async (scheme) => {
    const start = scheme === 'http' ? httpProxy : socksProxy;
    const proxy = await start({ fault: 'silent' });
    const via = transport(`${scheme}://127.0.0.1:${proxy.port}`, { timeoutMs: 50 });
    expect((await failure(get(via, 'https://origin.test/'))).code).toBe('proxy-failed');
  });

  test.each(['http', 'socks5'])('%s: an interrupt does not wait for the proxy', async (scheme) => {
    const start = scheme === 'http' ? httpProxy : socksProxy;
    const proxy = await start({ fault: 'silent' });
    const via = transport(`${scheme}://127.0.0.1:${proxy.port}`);
    const interrupt = new AbortController();
    const asked = get(via, 'https://origin.test/', interrupt.signal);
    interrupt.abort(new Error('interrupted'));
    await expect(asked).rejects.toThrow('interrupted');
    const other = get(via, 'https://other.test/');
    const closed = via.close();
    await expect(other).rejects.toThrow();
    await closed;
  });
});

describe('the system’s settings', () => {
  /** Ways as a script of the system would name them. */
  function system(...servers: (string | undefined)[]) {
    const failed: string[] = [];
    const all = servers.map((text) => (text === undefined ? undefined : parseProxy(text)));
    return {
      failed: (proxy: ProxyServer) => void failed.push(formatProxy(proxy)),
      ways: async () => all,
      names: failed,
    };
  }

  test('carry requests if neither user nor environment name a proxy', async () => {
    const { port, seen } = await origin();
    const proxy = await httpProxy();
    const other = await httpProxy();
    const ways = system(`http://127.0.0.1:${proxy.port}`);
    const url = `http://origin.test:${port}/`;
    for (const name of [undefined, 'system']) {
      expect(await get(transport(name, { system: ways }), url)).toMatch(/^200 this is origin/);
    }
    expect(proxy.asked).toHaveLength(2);
    const env = { http_proxy: `http://127.0.0.1:${other.port}` };
    await get(transport(undefined, { system: ways, env }), url);
    expect(other.asked).toHaveLength(1);
    await get(transport('direct', { system: ways }), `http://127.0.0.1:${port}/`);
    expect(proxy.asked).toHaveLength(2);
    expect(seen).toHaveLength(4);
  });

  test('lead around a proxy that is down, but not around one that refuses', async () => {
    const { port } = await origin();
    const gone = await HttpProxy.start();
    const down = `http://127.0.0.1:${gone.port}`;
    await gone.stop();
    const good = await httpProxy();
    const ways = system(down, `http://127.0.0.1:${good.port}`);
    const url = `http://origin.test:${port}/`;
    expect(await get(transport(undefined, { system: ways }), url)).toMatch(/^200/);
    expect(ways.names).toEqual([down]);
    const strict = await httpProxy({ login: 'tom:pw' });
    const refuses = system(`http://127.0.0.1:${strict.port}`, `http://127.0.0.1:${good.port}`);
    const { code, detail } = await failure(get(transport(undefined, { system: refuses }), url));
    expect(code).toBe('proxy-denied');
    expect(detail).toMatch(/asks for a user/);
    expect(good.asked).toHaveLength(1);
  });
});
