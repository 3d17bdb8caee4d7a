/** A daemon behind nginx and behind Caddy, with the configurations that users are given. */

import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { request } from 'node:https';
import { join } from 'node:path';
import { afterAll, test as always, beforeAll, describe, expect } from '@jest/globals';
import { type CertificatePair, makeCertificate } from '../../fixtures/origins/certificate.ts';
import { freePorts, Nginx, nginxOrComplain } from '../../fixtures/origins/nginx.ts';
import { DaemonProcess } from '../../fixtures/programs/daemon.ts';
import { CLI } from '../../fixtures/programs/main-files.ts';
import { temporaryFolder } from '../../fixtures/programs/processes.ts';
import { Caddy, caddyOrComplain } from '../../fixtures/tools/caddy.ts';
import { ROOT } from '../../fixtures/tools/repository.ts';
import { run, withTool } from '../../fixtures/tools/with-tool.ts';

const HOST = 'nas.example';
const PASSWORD = 'correct horse';
/** Guesses after which one must have been refused, however slow the machine is. */
const MOST_GUESSES = 12;
const DEPLOY = join(ROOT, 'desktop/deploy');

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let daemon: DaemonProcess;
let remotePort: number;
let pair: CertificatePair;
const ends: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  folder = await temporaryFolder();
  pair = makeCertificate(folder.path, 'nas', [HOST]);
  const state = join(folder.path, 'state');
  execFileSync(process.execPath, [CLI, 'daemon', 'account', 'add', 'ann'], {
    env: { ...process.env, MILLRACE_STATE: state },
    input: `${PASSWORD}\n`,
  });
  remotePort = await freePorts();
  daemon = await DaemonProcess.start(folder.path, [
    ...['--host', '127.0.0.1', '--behind-proxy', '127.0.0.1', '--remote-port', `${remotePort}`],
    ...['--public-url', `https://${HOST}`],
  ]);
});
afterAll(async () => {
  for (const end of ends) await end();
  await daemon?.stop();
  await folder?.remove();
});

/** nginx with the example as it stands, but for ports and certificate. @returns its port */
async function startNginx(): Promise<number> {
  const text = await readFile(join(DEPLOY, 'nginx/millrace-daemon.conf'), 'utf8');
  const location = /^ {2}location [\s\S]*?^ {2}}/m.exec(text)?.[0] ?? '';
  const nginx = await Nginx.start({
    dir: join(folder.path, 'nginx'),
    root: folder.path,
    tls: pair,
    server: location.replace('127.0.0.1:6801', `127.0.0.1:${remotePort}`),
  });
  ends.push(() => nginx.stop());
  return nginx.port;
}

/** Caddy with the example as it stands, but for ports and certificate. @returns its port */
async function startCaddy(): Promise<number> {
  const text = await readFile(join(DEPLOY, 'caddy/Caddyfile'), 'utf8');
  const site = text.replace('127.0.0.1:6801', `127.0.0.1:${remotePort}`);
  const caddy = await Caddy.start(join(folder.path, 'caddy'), site, HOST, pair);
  ends.push(() => caddy.stop());
  return caddy.port;
}

describe.each([
  ['nginx', startNginx, '127.0.0.2', nginxOrComplain('the daemon behind nginx')],
  ['Caddy', startCaddy, '127.0.0.3', caddyOrComplain('the daemon behind Caddy')],
] as const)('behind %s', (name, start, client, available) => {
  const test = available ? always : always.skip;
  let port: number;
  beforeAll(async () => {
    if (available) port = await start();
  });

  async function send(method: string, path: string, headers: Record<string, string>, body = '') {
    const to = {
      host: '127.0.0.1',
      port,
      servername: HOST,
      agent: false,
      rejectUnauthorized: false,
      localAddress: client,
    };
    const req = request({ ...to, method, path, headers: { host: HOST, ...headers } });
    // A server may answer and close before the whole body is sent; what comes first decides.
    req.on('error', () => {});
    req.end(body);
    const [res] = await once(req, 'response');
    let text = '';
    for await (const piece of res) text += piece;
    return { status: res.statusCode as number, headers: res.headers, text };
  }

  const logIn = (password: string, spoofed: string) =>
    send(
      'POST',
      '/session',
      {
        'content-type': 'application/json',
        origin: `https://${HOST}`,
        'x-forwarded-for': spoofed,
      },
      JSON.stringify({ name: 'ann', password }),
    );

  test('people log in, and the page’s calls, large ones too, and its WebSocket get through', async () => {
    const { status, headers } = await logIn(PASSWORD, '192.0.2.1');
    expect(status).toBe(204);
    const cookie = headers['set-cookie']?.[0]?.split(';')[0] ?? '';
    const page = { cookie, origin: `https://${HOST}` };
    const text = 'x'.repeat(3 * 1024 * 1024);
    const call = JSON.stringify({
      id: 1,
      method: 'millrace.readMetalink',
      params: [{ metalink: text }],
    });
    expect((await send('POST', '/jsonrpc', page, call)).text).toContain('"id":1');
    expect(await upgraded(port, client, { ...page, host: HOST })).toBe(101);
  });

  test('other names are not served, and other sites are not heard', async () => {
    if (name === 'nginx')
      expect((await send('GET', '/', { host: 'evil.example' })).status).toBe(403);
    const other = { origin: 'https://evil.example' };
    expect((await send('POST', '/jsonrpc', other, '{}')).status).toBe(403);
  });

  test('guesses count for the client’s own address, whatever address it claims', async () => {
    let status = 401;
    for (let i = 0; i < MOST_GUESSES && status === 401; i++) {
      ({ status } = await logIn('wrong', `203.0.113.${i}`));
    }
    expect(status).toBe(429);
    const { devices } = await daemon.call('millrace.devices');
    expect(devices[0]?.address).toBe(client);
  });
});

/** Opens a WebSocket as a page does. @returns the status of the answer */
async function upgraded(
  port: number,
  localAddress: string,
  fields: Record<string, string>,
): Promise<number> {
  const headers = {
    ...fields,
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  };
  const to = {
    host: '127.0.0.1',
    port,
    servername: HOST,
    agent: false,
    rejectUnauthorized: false,
    localAddress,
  };
  const req = request({ ...to, path: '/jsonrpc', headers });
  req.end();
  const [res, socket] = await Promise.race([once(req, 'upgrade'), once(req, 'response')]);
  socket?.destroy();
  req.destroy();
  return res.statusCode as number;
}

describe('in containers', () => {
  withTool('hadolint', 'the Dockerfile has nothing that hadolint finds', async (hadolint) => {
    const { status, output } = await run(hadolint, [join(DEPLOY, 'Dockerfile')]);
    expect([status, output]).toEqual([0, '']);
  });

  withTool(
    'docker-compose',
    'others reach the daemon of the compose file through Caddy only, and it writes into its volumes only',
    async (compose) => {
      const args = ['-f', join(DEPLOY, 'compose/compose.yaml'), 'config'];
      const { status, output } = await run(compose, [...args, '--format', 'json'], {
        MILLRACE_HOST: HOST,
      });
      expect([status, status === 0 ? '' : output]).toEqual([0, '']);
      const { millrace, caddy } = JSON.parse(output).services;
      const proxy = caddy.networks.front.ipv4_address;
      expect(millrace.command).toEqual(
        expect.arrayContaining([`--behind-proxy=${proxy}`, `--public-url=https://${HOST}`]),
      );
      expect(caddy.command).toEqual(expect.arrayContaining([HOST, 'millrace:6801']));
      expect(millrace.ports).toBeUndefined();
      expect(caddy.ports).toMatchObject([{ target: 443 }, { target: 80 }]);
      expect(millrace).toMatchObject({
        ...{ read_only: true, user: '65532:65532', cap_drop: ['ALL'] },
        volumes: [
          { type: 'volume', target: '/state' },
          { type: 'volume', target: '/downloads' },
        ],
      });
      const without = await run(compose, [...args, '--quiet'], { MILLRACE_HOST: '' });
      expect([without.status === 0, without.output]).toEqual([
        false,
        expect.stringMatching(/MILLRACE_HOST.*name of the NAS/),
      ]);
    },
  );
});
