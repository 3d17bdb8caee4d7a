/** Downloads through real proxies. */

import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { CERTIFICATE, KEY } from '@millrace/shared/testing/certificate';
import { FaultOrigin } from '../../fixtures/faults/fault-origin.ts';
import { sha256 } from '../../fixtures/origins/content.ts';
import type { ListeningProgram } from '../../fixtures/programs/listening-program.ts';
import { type CliResult, runCli, temporaryFolder } from '../../fixtures/programs/processes.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';
import {
  proxiesOrComplain,
  startMicrosocks,
  startTinyproxy,
} from '../../fixtures/tools/proxies.ts';

const { afterAll, afterEach, beforeAll, beforeEach, describe, test } = testsWhere(
  proxiesOrComplain('proxies'),
);
const LOGIN = { user: 'tom', password: 'sesame-secret' };
const NAME_AND_PASSWORD = `${LOGIN.user}:${LOGIN.password}@`;

let origin: FaultOrigin;
/** Server of the same files over TLS. */
let secure: ReturnType<typeof createServer>;
let securePort = 0;
/** Another origin, with TLS and with every fault. */
let secureFaults: FaultOrigin;
let own: Awaited<ReturnType<typeof temporaryFolder>>;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let certificate = '';
let http: ListeningProgram;
let socks: ListeningProgram;

beforeAll(async () => {
  own = await temporaryFolder();
  certificate = join(own.path, 'certificate.pem');
  await writeFile(certificate, CERTIFICATE);
  origin = await FaultOrigin.start();
  secure = createServer({ key: KEY, cert: CERTIFICATE }, (asked, answer) => {
    const { headers, url } = asked;
    request(`http://${origin.host}${url}`, { headers }, (response) => {
      answer.writeHead(response.statusCode as number, response.headers);
      response.pipe(answer);
    }).end();
  }).listen(0, '127.0.0.1');
  await once(secure, 'listening');
  securePort = (secure.address() as AddressInfo).port;
  secureFaults = await FaultOrigin.start({ tls: true });
  const faultsPort = Number(secureFaults.host.split(':')[1]);
  http = await startTinyproxy(own.path, LOGIN, [securePort, faultsPort]);
  socks = await startMicrosocks(LOGIN);
});
afterAll(async () => {
  await http?.stop();
  await socks?.stop();
  secure?.close();
  secure?.closeAllConnections();
  await secureFaults?.stop();
  await origin?.stop();
  await own?.remove();
});
beforeEach(async () => {
  folder = await temporaryFolder();
  origin?.reset();
});
afterEach(() => folder.remove());

/** Runs a download. NO_PROXY makes it use a proxy for this machine as well. */
async function get(url: string, args: string[], env = {}): Promise<CliResult> {
  const all = ['get', url, '-d', folder.path, '--retry-for', '1s', ...args];
  const result = await runCli(all, {
    NO_PROXY: '<-loopback>',
    NODE_EXTRA_CA_CERTS: certificate,
    ...env,
  });
  expect(result.stdout + result.stderr).not.toContain('secret');
  return result;
}

async function expectSaved(result: CliResult, url: string): Promise<void> {
  expect(result).toMatchObject({ code: 0, stderr: '' });
  expect(await readdir(folder.path)).toEqual(['file.bin']);
  expect(sha256(await readFile(join(folder.path, 'file.bin')))).toBe(origin.digest(url));
}

const overTls = (url: string) => {
  const { pathname, search } = new URL(url);
  return `https://localhost:${securePort}${pathname}${search}`;
};
const httpProxy = (login = NAME_AND_PASSWORD) => `http://${login}127.0.0.1:${http.port}`;
const socksProxy = (login = NAME_AND_PASSWORD) => `socks5h://${login}127.0.0.1:${socks.port}`;

describe('an HTTP proxy', () => {
  test('brings http:// files, and does not forward its log-in', async () => {
    const url = origin.url('none');
    await expectSaved(await get(url, ['--proxy', httpProxy()]), url);
    expect(origin.requests.length).toBeGreaterThan(0);
    for (const { headers } of origin.requests) {
      expect(headers.via).toMatch(/tinyproxy/);
      expect(JSON.stringify(headers)).not.toMatch(/proxy-authorization|secret/i);
    }
  });

  test('brings https:// files through a tunnel', async () => {
    const url = origin.url('none');
    await expectSaved(await get(overTls(url), ['--proxy', httpProxy()]), url);
    for (const { headers } of origin.requests) expect(headers.via).toBeUndefined();
  });

  test('that asks for a log-in, or refuses the tunnel, is named in the error', async () => {
    const asked = await get(origin.url('none'), ['--proxy', httpProxy('')]);
    expect(asked.code).toBe(4);
    expect(asked.stderr).toMatch(/proxy refuses access: http:\/\/127.*asks for a user/);
    const tunnel = overTls(origin.url('none')).replace(String(securePort), '22');
    const refused = await get(tunnel, ['--proxy', httpProxy()]);
    expect(refused.code).toBe(4);
    expect(refused.stderr).toMatch(/answered 403 to CONNECT localhost:22/);
    expect(origin.requests).toHaveLength(0);
    expect(await readdir(folder.path)).toEqual([]);
  });

  test('comes from the environment, which can exempt a host', async () => {
    const url = origin.url('none');
    await expectSaved(await get(url, [], { http_proxy: httpProxy() }), url);
    expect(origin.requests.at(-1)?.headers.via).toMatch(/tinyproxy/);
    const env = { http_proxy: httpProxy(), NO_PROXY: '<-loopback>,127.0.0.0/8' };
    expect((await get(url, ['--overwrite'], env)).code).toBe(0);
    expect(origin.requests.at(-1)?.headers.via).toBeUndefined();
    expect((await get(url, ['--overwrite', '--proxy', 'direct'], env)).code).toBe(0);
    expect(origin.requests.at(-1)?.headers.via).toBeUndefined();
  });
});

describe('the proxy of the system’s settings', () => {
  /** Writes KDE's settings. @returns the environment of a program on that desktop */
  async function desktop(lines: readonly string[]): Promise<Record<string, string>> {
    await writeFile(join(own.path, 'kioslaverc'), `[Proxy Settings]\n${lines.join('\n')}\n`);
    return { XDG_CURRENT_DESKTOP: 'KDE', XDG_CONFIG_HOME: own.path };
  }

  test('brings a file, and can be overridden', async () => {
    const url = origin.url('none');
    const server = `http://${NAME_AND_PASSWORD}127.0.0.1 ${http.port}`;
    const env = await desktop(['ProxyType=1', `httpProxy=${server}`]);
    await expectSaved(await get(url, [], env), url);
    expect(origin.requests.at(-1)?.headers.via).toMatch(/tinyproxy/);
    expect((await get(url, ['--overwrite', '--proxy', 'direct'], env)).code).toBe(0);
    expect(origin.requests.at(-1)?.headers.via).toBeUndefined();
  });

  test('comes from a script, which names another one for a proxy that is down', async () => {
    const gone = await startMicrosocks(LOGIN);
    await gone.stop();
    const script = join(own.path, 'proxy.pac');
    const ways = `PROXY 127.0.0.1:${gone.port}; PROXY 127.0.0.1:${http.port}`;
    await writeFile(script, `function FindProxyForURL(url, host) { return '${ways}'; }`);
    const env = await desktop(['ProxyType=2', `Proxy Config Script=file://${script}`]);
    const result = await get(origin.url('none'), [], env);
    // No script can give a log-in.
    expect(result.code).toBe(4);
    expect(result.stderr).toMatch(/proxy refuses access: http:\/\/127.*asks for a user/);
    expect(result.stderr).toMatch(/--proxy http:\/\/name:password@/);
    expect(origin.requests).toHaveLength(0);
  });

  test('comes from a script that is not there: nothing goes past the proxy', async () => {
    const env = await desktop(['ProxyType=2', 'Proxy Config Script=file:///nowhere/proxy.pac']);
    const result = await get(origin.url('none'), [], { ...env, NO_PROXY: '<-loopback>' });
    expect(result.code).toBe(3);
    expect(result.stderr).toMatch(/The proxy does not work: the script .*ENOENT.*nothing is sent/);
    expect(origin.requests).toHaveLength(0);
  });
});

describe('a SOCKS proxy', () => {
  test('brings http:// and https:// files', async () => {
    const url = origin.url('none');
    await expectSaved(await get(url, ['--proxy', socksProxy()]), url);
    const again = await get(overTls(url), ['--overwrite', '--proxy', socksProxy()]);
    await expectSaved(again, url);
  });

  test('that refuses the password is named, and not bypassed', async () => {
    const result = await get(origin.url('none'), ['--proxy', socksProxy('tom:other@')]);
    expect(result.code).toBe(4);
    expect(result.stderr).toMatch(/proxy refuses access: socks5:.*does not accept/);
    expect(origin.requests).toHaveLength(0);
  });
});

test('a dead proxy is a network failure, except for files on this machine', async () => {
  const gone = await startMicrosocks(LOGIN);
  await gone.stop();
  const url = origin.url('none');
  for (const scheme of ['http', 'socks5']) {
    const dead = ['--proxy', `${scheme}://127.0.0.1:${gone.port}`];
    const result = await get(url, dead);
    expect(result.code).toBe(3);
    expect(result.stderr).toMatch(/The proxy does not work: .*ECONNREFUSED/);
    expect(origin.requests).toHaveLength(0);
  }
  const dead = ['--proxy', `http://127.0.0.1:${gone.port}`];
  await expectSaved(await get(url, dead, { NO_PROXY: '' }), url);
});

describe('answers that break the rules of HTTP, which a stricter client refuses', () => {
  const FAULTS = [
    ...['bare-line-feeds', 'folded-header', 'same-length-twice', 'continue-unasked'],
    ...['gzip-transfer-whole', 'chunked-twice', 'content-range-equals', 'works-twice'],
  ];

  test.each(['forwards', 'tunnels', 'speaks SOCKS'])(
    'bring the file if a proxy %s',
    async (how) => {
      const from = how === 'tunnels' ? secureFaults : origin;
      const urls = FAULTS.map((fault) => from.url(fault, { name: `${fault}.bin` }));
      const proxy = how === 'speaks SOCKS' ? socksProxy() : httpProxy();
      const [first = '', ...rest] = urls;
      const result = await get(first, [...rest, '--proxy', proxy, '--retry-for', '30s']);
      expect(result).toMatchObject({ code: 0 });
      const saved = await Promise.all(
        FAULTS.map(async (fault) => sha256(await readFile(join(folder.path, `${fault}.bin`)))),
      );
      expect(saved).toEqual(urls.map((url) => from.digest(url)));
    },
  );
});

test('an impossible proxy URL is a usage error', async () => {
  const result = await get(origin.url('none'), ['--proxy', 'gopher://tom:secret@x']);
  expect(result.code).toBe(2);
});
