/** Sources from which a download takes nothing, whoever names them. */

import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { CERTIFICATE, KEY } from '@millrace/shared/testing/certificate';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { FileServer } from '../../fixtures/origins/file-server.ts';
import { runCli, temporaryFolder } from '../../fixtures/programs/processes.ts';

const SIZE = 3_000_000;
const SOURCE = 7;
/** A host of the public internet, for which the proxy, a server of the test, answers. */
const PUBLIC = 'http://files.public-name.com';

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let origin: FileServer;
let mirror: FileServer;
const closing: (() => unknown)[] = [];

beforeEach(async () => {
  folder = await temporaryFolder();
  [origin, mirror] = await Promise.all([FileServer.start(), FileServer.start()]);
});
afterEach(async () => {
  for (const close of closing.splice(0)) close();
  await Promise.all([origin.stop(), mirror.stop(), folder.remove()]);
});

const body = contentOf('sources', SIZE);
const get = (args: string[], env = {}) =>
  runCli(['get', ...args, '-d', folder.path, '--limit', '3M', '--json'], env);
const saved = async () => sha256(await readFile(join(folder.path, 'a.iso')));
/** Makes an origin refuse after three answers, so that another source has to send the rest. */
const failing = { refuse: (count: number) => (count > 3 ? 403 : undefined) };
const notUsed = (stdout: string) => stdout.includes('source-refused');

describe('a file of the public internet', () => {
  const viaProxy = (...args: string[]) =>
    get([`${PUBLIC}/a.iso`, '--proxy', origin.url('/'), ...args]);

  test('takes nothing from a mirror in the user’s own network that its server names', async () => {
    const inside = mirror.add('/a.iso', { body });
    const headers = { link: `<${inside}>; rel=duplicate; pri=1` };
    origin.add(`${PUBLIC}/a.iso`, { body, headers });
    const result = await viaProxy();
    expect(result).toMatchObject({ code: 0 });
    expect(notUsed(result.stdout)).toBe(true);
    expect(await saved()).toBe(sha256(body));
    expect(mirror.requests).toEqual([]);
  });

  test('takes nothing from a mirror in the user’s own network that a Metalink document names', async () => {
    const inside = mirror.add('/admin/reboot', { body });
    origin.add(`${PUBLIC}/a.iso`, { body });
    const document = join(folder.path, 'list.meta4');
    await writeFile(
      document,
      `<?xml version="1.0"?><metalink xmlns="urn:ietf:params:xml:ns:metalink"><file name="a.iso">
      <size>${SIZE}</size><url priority="1">${inside}</url><url priority="2">${PUBLIC}/a.iso</url>
      </file></metalink>`,
    );
    const result = await get([document, '--proxy', origin.url('/')]);
    expect(result).toMatchObject({ code: 0 });
    expect(await saved()).toBe(sha256(body));
    expect(mirror.requests).toEqual([]);
  });

  test('does not follow a redirect into the user’s own network', async () => {
    const inside = mirror.add('/a.iso', { body });
    const proxy = createServer((_, res) => res.writeHead(302, { location: inside }).end());
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    closing.push(() => proxy.close());
    const { port } = proxy.address() as AddressInfo;
    const result = await get([`${PUBLIC}/a.iso`, '--proxy', `http://127.0.0.1:${port}`]);
    expect(result).toMatchObject({ code: SOURCE });
    expect(notUsed(result.stdout)).toBe(true);
    expect(mirror.requests).toEqual([]);
  });

  test('is taken from a mirror in the user’s own network that the user has named', async () => {
    const inside = mirror.add('/a.iso', { body });
    origin.add(`${PUBLIC}/a.iso`, { body, ...failing });
    expect(await viaProxy('--mirror', inside)).toMatchObject({ code: 0 });
    expect(await saved()).toBe(sha256(body));
    expect(mirror.sentBytes).toBeGreaterThan(SIZE / 20);
  });
});

describe('an edge', () => {
  /** Downloads with an edge that serves nothing and only notes whether it is asked. */
  const getByEdge = async (path: string, headers: Record<string, string>) => {
    const url = origin.add(path, { body, headers });
    const result = await get([url, '-o', 'a.iso', '--edge', mirror.url('/')]);
    expect(result).toMatchObject({ code: 0 });
    expect(await saved()).toBe(sha256(body));
    return { stdout: result.stdout, asked: mirror.requests.length > 0 };
  };

  test.each<[string, string, Record<string, string>]>([
    ['the server says private', '/a.iso', { 'cache-control': 'private' }],
    ['the server says no-store', '/a.iso', { 'cache-control': 'no-store' }],
    ['the server sets a cookie', '/a.iso', { 'set-cookie': 'a=b' }],
    ['the server gives everybody another file', '/a.iso', { vary: '*' }],
    ['the link is good for a time', '/a.iso?md5=abc&expires=1900000000', {}],
    ['the link is one for sharing', '/s/Kx3mPq9ZtR7wLbY/download', {}],
  ])('learns nothing of a file where %s', async (_, path, headers) => {
    const { stdout, asked } = await getByEdge(path, headers);
    expect(asked).toBe(false);
    expect(stdout).toContain('edges are not used, because the file may not be public');
  });

  test('learns nothing of an expiring link with --edges-only, and the origin is not asked', async () => {
    const url = origin.add('/a.iso?md5=abc&expires=1900000000', { body });
    const result = await get([url, '-o', 'a.iso', '--edge', mirror.url('/'), '--edges-only']);
    expect(result).toMatchObject({ code: SOURCE });
    expect([...origin.requests, ...mirror.requests]).toEqual([]);
  });

  test('is asked for a file that the server gives to everybody', async () => {
    const { stdout, asked } = await getByEdge('/a.iso', { 'cache-control': 'max-age=60' });
    expect(asked).toBe(true);
    expect(stdout).not.toContain('may not be public');
  });
});

describe('a file asked for by https', () => {
  /** Puts TLS before the origin. @returns its URL, and an environment that trusts it */
  const overTls = async () => {
    const front = createTlsServer({ key: KEY, cert: CERTIFICATE }, ({ url, headers }, answer) => {
      request(origin.url(url ?? ''), { headers }, (response) => {
        answer.writeHead(response.statusCode ?? 500, response.headers);
        response.pipe(answer);
      }).end();
    });
    front.listen(0, '127.0.0.1');
    await once(front, 'listening');
    closing.push(() => {
      front.close();
      front.closeAllConnections();
    });
    const certificate = join(folder.path, 'certificate.pem');
    await writeFile(certificate, CERTIFICATE);
    const { port } = front.address() as AddressInfo;
    return {
      url: `https://localhost:${port}/a.iso`,
      env: { NODE_EXTRA_CA_CERTS: certificate },
    };
  };
  /** Other bytes of the same length, as an attacker on the path would make them. */
  const changed = Buffer.from(body).reverse();

  test('has no byte of an http mirror that shares its entity tag', async () => {
    const { url, env } = await overTls();
    const plain = mirror.add('/a.iso', { body: changed, etag: '"same"' });
    const headers = { link: `<${plain}>; rel=duplicate; pri=1` };
    origin.add('/a.iso', { body, etag: '"same"', headers });
    const result = await get([url], env);
    expect(result).toMatchObject({ code: 0 });
    expect(notUsed(result.stdout)).toBe(true);
    expect(await saved()).toBe(sha256(body));
    expect(mirror.requests).toEqual([]);
  });

  test('has bytes of an http mirror when a digest shows whether they are right', async () => {
    const { url, env } = await overTls();
    const plain = mirror.add('/a.iso', { body, etag: '"same"' });
    const headers = {
      link: `<${plain}>; rel=duplicate; pri=1`,
      'repr-digest': `sha-256=:${Buffer.from(sha256(body), 'hex').toString('base64')}:`,
    };
    origin.add('/a.iso', { body, etag: '"same"', headers, ...failing });
    expect(await get([url], env)).toMatchObject({ code: 0 });
    expect(await saved()).toBe(sha256(body));
    expect(mirror.sentBytes).toBeGreaterThan(SIZE / 20);
  });
});
