import { describe, expect, test } from '@jest/globals';
import type { HttpProxy } from './testing/http-proxy.ts';
import { distrust, failure, get, TransportStage } from './testing/transport-stage.ts';

const stage = new TransportStage();

describe.each([false, true])('through an HTTP proxy (TLS: %s)', (tls) => {
  const url = (proxy: HttpProxy, login = '') =>
    `${tls ? 'https' : 'http'}://${login}localhost:${proxy.port}`;

  test('http:// is forwarded and not tunnelled, and credentials stay with the proxy', async () => {
    const { port, seen } = await stage.origin();
    const proxy = await stage.httpProxy({ tls, login: 'us@er:sec:ret' });
    const via = stage.transport(url(proxy, 'us%40er:sec%3Aret@'));
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
    const { port, seen } = await stage.origin(true);
    const proxy = await stage.httpProxy({ tls, login: 'user:secret' });
    const via = stage.transport(url(proxy, 'user:secret@'), { connections: 1 });
    expect(await get(via, `https://origin.test:${port}/`)).toBe(`200 this is origin.test:${port}`);
    expect(await get(via, `https://origin.test:${port}/2`)).toContain('200');
    expect(proxy.asked).toEqual([`CONNECT origin.test:${port}`]); // one connection for both
    expect(proxy.headers[0]).not.toHaveProperty('x-own');
    expect(seen[0]?.headers).not.toHaveProperty('proxy-authorization');
    distrust();
    const wary = stage.transport(url(proxy, 'user:secret@'));
    expect((await failure(get(wary, `https://origin.test:${port}/`))).code).toBe(
      'certificate-invalid',
    );
  });

  test('a certificate of another host is refused, even at the end of a tunnel', async () => {
    const { port, seen } = await stage.origin(true);
    const via = stage.transport(url(await stage.httpProxy({ tls })));
    const told = await failure(get(via, `https://other.test:${port}/`));
    expect(told.code).toBe('certificate-invalid');
    expect(await get(via, `https://origin.test:${port}/`)).toContain('200');
    expect(seen).toHaveLength(1);
  });

  test.each(['', 'user:secret@'])('missing or wrong credentials fail: "%s"', async (login) => {
    const { port, seen } = await stage.origin();
    const proxy = await stage.httpProxy({ tls, login: 'other:one' });
    const via = stage.transport(url(proxy, login));
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
    const proxy = await stage.httpProxy({ tls, fault });
    const told = await failure(
      get(stage.transport(url(proxy, 'u:secret@')), 'https://origin.test/'),
    );
    expect(told).toEqual({ code, detail: expect.stringContaining(text) });
  });

  test('an origin that the proxy cannot reach is reported as a failure of the proxy', async () => {
    const proxy = await stage.httpProxy({ tls });
    const told = await failure(get(stage.transport(url(proxy)), 'https://origin.test:9/'));
    expect(told).toEqual({ code: 'proxy-failed', detail: expect.stringContaining('502') });
  });
});

describe('proxies that cannot be reached', () => {
  test.each(['http', 'https', 'socks4a', 'socks5'])('%s', async (scheme) => {
    // Nobody listens there (RFC 863), while others could get the port of a proxy that has ended.
    const via = stage.transport(`${scheme}://user:secret@127.0.0.1:9`);
    for (const target of ['http://origin.test/', 'https://origin.test/']) {
      const told = await failure(get(via, target));
      expect(told.code).toBe('proxy-failed');
      expect(told.detail).toContain('ECONNREFUSED');
    }
  });

  test('an HTTPS proxy without a trusted certificate gets no request', async () => {
    const proxy = await stage.httpProxy({ tls: true });
    distrust();
    const via = stage.transport(`https://user:secret@localhost:${proxy.port}`);
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
    const { port } = await stage.origin(tls);
    const proxy = await stage.socksProxy();
    const via = stage.transport(`${scheme}://127.0.0.1:${proxy.port}`);
    const target = `${tls ? 'https' : 'http'}://origin.test:${port}/`;
    expect(await get(via, target)).toBe(`200 this is origin.test:${port}`);
    expect(proxy.asked).toEqual([asked]);
  });

  test('addresses are passed on unchanged; for SOCKS4, names are looked up here', async () => {
    const { port } = await stage.origin();
    const proxy = await stage.socksProxy();
    const options = { env: { no_proxy: '<-loopback>' } };
    const five = stage.transport(`socks5://127.0.0.1:${proxy.port}`, options);
    expect(await get(five, `http://127.0.0.1:${port}/`)).toContain('200');
    expect(await get(five, `http://[::1]:${port}/`)).toContain('200');
    const four = stage.transport(`socks4://tom@127.0.0.1:${proxy.port}`, options);
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
    const { port } = await stage.origin();
    const proxy = await stage.socksProxy({ login: 'us@er:sécret' });
    const target = `http://origin.test:${port}/`;
    const via = (login: string) => stage.transport(`socks5://${login}127.0.0.1:${proxy.port}`);
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
    const proxy = await stage.socksProxy({ reply });
    const via = stage.transport(`${scheme}://user:secret@127.0.0.1:${proxy.port}`);
    expect((await failure(get(via, 'http://origin.test/'))).code).toBe(code);
  });

  test.each([
    ['socks5', 'hangs-up'],
    ['socks5', 'nonsense'],
    ['socks4a', 'hangs-up'],
    ['socks4a', 'nonsense'],
  ] as const)('%s: a proxy with the fault "%s"', async (scheme, fault) => {
    const proxy = await stage.socksProxy({ fault });
    const via = stage.transport(`${scheme}://user:secret@127.0.0.1:${proxy.port}`);
    expect((await failure(get(via, 'https://origin.test/'))).code).toBe('proxy-failed');
  });
});

describe('silent proxies', () => {
  test.each(['http', 'socks5'])('%s: the request fails at the time limit', async (scheme) => {
    const fault = { fault: 'silent' } as const;
    const proxy = await (scheme === 'http' ? stage.httpProxy(fault) : stage.socksProxy(fault));
    const via = stage.transport(`${scheme}://127.0.0.1:${proxy.port}`, { timeoutMs: 50 });
    expect((await failure(get(via, 'https://origin.test/'))).code).toBe('proxy-failed');
  });

  test.each(['http', 'socks5'])('%s: an interrupt does not wait for the proxy', async (scheme) => {
    const fault = { fault: 'silent' } as const;
    const proxy = await (scheme === 'http' ? stage.httpProxy(fault) : stage.socksProxy(fault));
    const via = stage.transport(`${scheme}://127.0.0.1:${proxy.port}`);
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
