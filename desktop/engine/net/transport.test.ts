import { describe, expect, test } from '@jest/globals';
import { formatProxy, type ProxyServer, parseProxy } from '../proxy/proxy-settings.ts';
import { distrust, failure, get, TransportStage } from './testing/transport-stage.ts';

const stage = new TransportStage();

describe('directly', () => {
  test('http and https work, and an untrusted certificate is refused', async () => {
    const plain = await stage.origin();
    const secure = await stage.origin(true);
    const direct = stage.transport(undefined);
    expect(await get(direct, `http://127.0.0.1:${plain.port}/`)).toContain('200 this is 127.0.0.1');
    expect(await get(direct, `https://127.0.0.1:${secure.port}/`)).toContain('200 this is');
    distrust();
    const wary = stage.transport(undefined);
    const refused = await failure(get(wary, `https://127.0.0.1:${secure.port}/`));
    expect(refused.code).toBe('certificate-invalid');
    expect(secure.seen).toHaveLength(1);
  });

  test('of a name’s several addresses, the one that answers is found', async () => {
    const { port } = await stage.origin(); // listens at 127.0.0.1 only, while localhost may be ::1 first
    expect(await get(stage.transport(undefined), `http://localhost:${port}/`)).toContain('200');
  });

  test('this machine is not proxied, and "direct" ignores the environment', async () => {
    const { port } = await stage.origin();
    const proxied = stage.transport('http://127.0.0.1:9');
    expect(await proxied.isProxied(new URL('http://127.0.0.1/'))).toBe(false);
    expect(await proxied.isProxied(new URL('http://origin.test/'))).toBe(true);
    expect(await get(proxied, `http://127.0.0.1:${port}/`)).toContain('200');
    const direct = stage.transport('direct', { env: { http_proxy: 'http://127.0.0.1:9' } });
    expect(await direct.isProxied(new URL('http://origin.test/'))).toBe(false);
  });

  test('TLS at a port without TLS is reported as such, without OpenSSL’s words', async () => {
    const { port } = await stage.origin();
    const told = await failure(get(stage.transport(undefined), `https://127.0.0.1:${port}/`));
    expect(told).toEqual({ code: 'no-tls', detail: '' });
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
    const { port, seen } = await stage.origin();
    const proxy = await stage.httpProxy();
    const other = await stage.httpProxy();
    const ways = system(`http://127.0.0.1:${proxy.port}`);
    const url = `http://origin.test:${port}/`;
    for (const name of [undefined, 'system']) {
      expect(await get(stage.transport(name, { system: ways }), url)).toMatch(
        /^200 this is origin/,
      );
    }
    expect(proxy.asked).toHaveLength(2);
    const env = { http_proxy: `http://127.0.0.1:${other.port}` };
    await get(stage.transport(undefined, { system: ways, env }), url);
    expect(other.asked).toHaveLength(1);
    await get(stage.transport('direct', { system: ways }), `http://127.0.0.1:${port}/`);
    expect(proxy.asked).toHaveLength(2);
    expect(seen).toHaveLength(4);
  });

  test('lead around a proxy that is down, but not around one that refuses', async () => {
    const { port } = await stage.origin();
    // Nobody listens there (RFC 863), while others could get the port of a proxy that has ended.
    const down = 'http://127.0.0.1:9';
    const good = await stage.httpProxy();
    const ways = system(down, `http://127.0.0.1:${good.port}`);
    const url = `http://origin.test:${port}/`;
    expect(await get(stage.transport(undefined, { system: ways }), url)).toMatch(/^200/);
    expect(ways.names).toEqual([down]);
    const strict = await stage.httpProxy({ login: 'tom:pw' });
    const refuses = system(`http://127.0.0.1:${strict.port}`, `http://127.0.0.1:${good.port}`);
    const { code, detail } = await failure(
      get(stage.transport(undefined, { system: refuses }), url),
    );
    expect(code).toBe('proxy-denied');
    expect(detail).toMatch(/asks for a user/);
    expect(good.asked).toHaveLength(1);
  });
});
