/** TLS: renewed and wrong certificates, the plain port beside TLS, and nodes that use TLS. */

import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { copyFile, mkdir, rename, symlink, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { join } from 'node:path';
import { connect, type PeerCertificate } from 'node:tls';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { H2Client, readAll } from '../../fixtures/clients/h2-client.ts';
import { fetchAll } from '../../fixtures/clients/http-client.ts';
import { FaultOrigin } from '../../fixtures/faults/fault-origin.ts';
import { type CertificatePair, makeCertificate } from '../../fixtures/origins/certificate.ts';
import { sha256 } from '../../fixtures/origins/content.ts';
import { EdgeProcess, runCli, temporaryFolder } from '../../fixtures/programs/processes.ts';
import { until } from '../../fixtures/until.ts';

const MiB = 1024 * 1024;

let origin: FaultOrigin;
/** Folder of the certificates, which no test changes. */
let certificates: Awaited<ReturnType<typeof temporaryFolder>>;
/** Folder of the test. */
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let first: CertificatePair;
let second: CertificatePair;
const ending: (() => unknown)[] = [];

beforeAll(async () => {
  [origin, certificates] = await Promise.all([FaultOrigin.start(), temporaryFolder()]);
  first = makeCertificate(certificates.path, 'first');
  second = makeCertificate(certificates.path, 'second');
});

beforeEach(async () => {
  folder = await temporaryFolder();
});

afterEach(async () => {
  for (const end of ending.splice(0).reverse()) await end();
  await folder.remove();
});

afterAll(() => Promise.all([origin.stop(), certificates.remove()]));

const launch = (pair: CertificatePair, ...options: string[]) =>
  EdgeProcess.start(
    ['--tls-cert', pair.cert, '--tls-key', pair.key, '--allow-origin', '127.0.0.1', ...options],
    // Lets nodes trust each other's certificate.
    { NODE_EXTRA_CA_CERTS: first.cert },
  );

/** Starts an edge that ends with the test. */
async function start(pair: CertificatePair, ...options: string[]): Promise<EdgeProcess> {
  const edge = await launch(pair, ...options);
  ending.push(() => edge.stop('SIGKILL'));
  return edge;
}

/** Returns the name in the certificate that a new connection gets. */
async function shownName(edge: EdgeProcess): Promise<string> {
  const { hostname, port } = new URL(edge.secureUrl);
  const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const { subject } = socket.getPeerCertificate() as PeerCertificate;
  socket.destroy();
  return String(subject.CN);
}

/** Sends a GET over TLS and HTTP/1.1. */
async function open(url: string, pair: CertificatePair): Promise<IncomingMessage> {
  const request = get(url, { ca: readFileSync(pair.cert), agent: false });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return response;
}

/** Makes a folder as cert-manager and certbot keep it: links, which `turnTo` points elsewhere. */
async function linked(
  pair: CertificatePair,
): Promise<CertificatePair & { turnTo(p: CertificatePair): Promise<void> }> {
  const live = join(folder.path, 'live');
  await mkdir(live);
  const link = join(live, '..data');
  let turns = 0;
  const turnTo = async (to: CertificatePair) => {
    const version = join(live, `..${turns++}`);
    await mkdir(version);
    await copyFile(to.cert, join(version, 'tls.crt'));
    await copyFile(to.key, join(version, 'tls.key'));
    await symlink(version, `${link}_tmp`);
    await rename(`${link}_tmp`, link);
  };
  await turnTo(pair);
  for (const name of ['tls.crt', 'tls.key']) await symlink(join('..data', name), join(live, name));
  return { cert: join(live, 'tls.crt'), key: join(live, 'tls.key'), turnTo };
}

describe('a certificate that is replaced', () => {
  test('is loaded without a signal when links are turned, and running transfers continue', async () => {
    const live = await linked(first);
    const edge = await start(live, '--http-port', '0', '--chunk-size', '64KiB');
    expect(await shownName(edge)).toBe('first');
    const client = await H2Client.connect(edge.secureUrl, first.cert);
    ending.push(() => client.close());
    const url = origin.url('none', { seed: 'renewed', size: 8 * MiB });
    const { stream } = await client.open(`/${url}`);
    await live.turnTo(second);
    await until(async () => (await shownName(edge)) === 'second');
    expect((await readAll(stream)).digest).toBe(origin.digest(url));
    // The old connection stays usable.
    expect((await client.fetch(`/${url}`)).digest).toBe(origin.digest(url));
  });

  test('by a broken one stays in use, with a complaint in the log, until a good one comes', async () => {
    const pair = { cert: join(folder.path, 'live.crt'), key: join(folder.path, 'live.key') };
    await copyFile(first.cert, pair.cert);
    await copyFile(first.key, pair.key);
    const edge = await start(pair);
    const complaints = () => edge.log.filter((line) => /the one before stays/.test(line));
    await copyFile(second.cert, pair.cert); // without its key yet
    edge.child.kill('SIGHUP');
    await until(() => complaints().length > 0);
    expect(complaints().at(-1)).toMatch(/is not that of the first certificate/);
    expect(await shownName(edge)).toBe('first');
    const before = complaints().length;
    await writeFile(pair.key, '-----BEGIN PRIVATE KEY-----\nMIG');
    edge.child.kill('SIGHUP');
    await until(() => complaints().length > before);
    expect(await shownName(edge)).toBe('first');
    await copyFile(second.key, pair.key);
    edge.child.kill('SIGHUP');
    await until(async () => (await shownName(edge)) === 'second');
  });

  test('is loaded by all of several processes on SIGHUP', async () => {
    const live = await linked(first);
    const edge = await start(live, '--workers', '2', '--http-port', '0');
    const shown = async () =>
      new Set(await Promise.all(Array.from({ length: 6 }, () => shownName(edge))));
    expect(await shown()).toEqual(new Set(['first']));
    await live.turnTo(second);
    edge.child.kill('SIGHUP');
    await until(async () => !(await shown()).has('first'));
    const url = origin.url('none', { seed: 'workers' });
    const client = await H2Client.connect(edge.secureUrl, second.cert);
    ending.push(() => client.close());
    expect((await client.fetch(`/${url}`)).digest).toBe(origin.digest(url));
    expect((await fetch(`${edge.url}/-/live`)).status).toBe(200);
  });
});

describe('an unusable certificate or key is reported at the start', () => {
  const cases: [string, (p: CertificatePair) => Promise<string[]> | string[], RegExp][] = [
    [
      'no such file',
      (p) => ['--tls-cert', '/nowhere.pem', '--tls-key', p.key],
      /cannot be read: there is no file .*ENOENT/,
    ],
    ['only one of both', (p) => ['--tls-cert', p.cert], /go together/],
    [
      'a key where the certificate should be',
      (p) => ['--tls-cert', p.key, '--tls-key', p.key],
      /holds no certificate/,
    ],
    [
      'the key of another',
      (p) => ['--tls-cert', p.cert, '--tls-key', second.key],
      /is not that of/,
    ],
    ['a plain port and no other', () => ['--http-port', '0'], /--tls-cert is missing/],
    [
      'a key with a passphrase',
      async (p) => {
        const key = join(folder.path, 'locked.key');
        await promisify(execFile)('openssl', [
          'pkey',
          '-in',
          p.key,
          '-aes256',
          '-passout',
          'pass:x',
          '-out',
          key,
        ]);
        return ['--tls-cert', p.cert, '--tls-key', key];
      },
      /no passphrase/,
    ],
  ];
  test.each(cases)('%s', async (_name, options, message) => {
    await expect(EdgeProcess.start([...(await options(first))])).rejects.toThrow(message);
  });
});

describe('connections with TLS', () => {
  let edge: EdgeProcess;
  beforeAll(async () => {
    edge = await launch(first, '--local-token-file', join(certificates.path, 'token'));
  });
  afterAll(() => edge.stop('SIGKILL'));

  test('older than TLS 1.2 are refused', async () => {
    const { hostname, port } = new URL(edge.secureUrl);
    const old = {
      maxVersion: 'TLSv1.1',
      minVersion: 'TLSv1',
      ciphers: 'DEFAULT@SECLEVEL=0',
    } as const;
    const socket = connect({
      host: hostname,
      port: Number(port),
      rejectUnauthorized: false,
      ...old,
    });
    const [error] = (await once(socket, 'error')) as [NodeJS.ErrnoException];
    expect(error.code).toMatch(/PROTOCOL_VERSION/);
  });

  test('HTTP/1.1: a body that cannot be completed ends with a reset of the connection', async () => {
    const outcome = await promisify(execFile)('curl', [
      ...['-sS', '--http1.1', '--cacert', first.cert, '-o', '/dev/null'],
      `${edge.secureUrl}/${origin.url('chunked-broken')}`,
    ]).then(
      () => 'complete',
      ({ stderr }: { stderr: string }) => stderr,
    );
    expect(outcome).toMatch(/reset by peer/);
    expect(edge.log.join()).not.toMatch(/internal error/);
  });

  test('HTTP/1.1: a name that is not ASCII, as it is typed', async () => {
    const url = origin.url('none', { name: encodeURIComponent('caf\u00e9.bin') });
    const options = { encoding: 'buffer', maxBuffer: 8 * MiB } as const;
    const { stdout } = await promisify(execFile)(
      'curl',
      ['-sS', '--http1.1', '--cacert', first.cert, `${edge.secureUrl}/${decodeURIComponent(url)}`],
      options,
    );
    expect(sha256(stdout)).toBe(origin.digest(url));
  });

  test('carry the downloads of millrace get', async () => {
    const url = origin.url('none', { seed: 'get', size: 5 * MiB });
    const out = join(folder.path, 'out.bin');
    const args = ['get', url, '--edge', edge.secureUrl, '--edges-only', '-o', out];
    const { code, stderr } = await runCli(args, { NODE_EXTRA_CA_CERTS: first.cert });
    expect([code, code === 0 ? '' : stderr]).toEqual([0, '']);
    expect(sha256(readFileSync(out))).toBe(origin.digest(url));
  });

  test('that begin without TLS get no answer and harm nobody', async () => {
    await expect(fetch(edge.secureUrl.replace('https', 'http'))).rejects.toThrow();
    const response = await open(`${edge.secureUrl}/-/live`, first);
    expect(response.statusCode).toBe(200);
    response.destroy();
  });
});

describe('--http-port', () => {
  test('serves clients, or redirects them to TLS except for health checks and Prometheus', async () => {
    const url = origin.url('none', { seed: 'plain' });
    const serving = await start(first, '--http-port', '0');
    expect((await fetchAll(serving.prefixed(url))).digest).toBe(origin.digest(url));
    const sending = await start(first, '--http-port', '0', '--http-answers', 'redirect');
    const { status, headers } = await fetchAll(sending.prefixed(url));
    expect([status, headers.location]).toEqual([308, `${sending.secureUrl}/${url}`]);
    for (const path of ['/', '/-/status', '/-/nothing']) {
      expect((await fetchAll(sending.url + path)).headers.location).toBe(sending.secureUrl + path);
    }
    for (const path of ['/-/live', '/-/ready', '/-/metrics']) {
      expect((await fetchAll(sending.url + path)).status).toBe(200);
    }
    const followed = await promisify(execFile)(
      'curl',
      ['-sSL', '--cacert', first.cert, sending.prefixed(url)],
      { encoding: 'buffer', maxBuffer: 8 * MiB },
    );
    expect(sha256(followed.stdout)).toBe(origin.digest(url));
    // An invalid Host is not redirected.
    const strange = await fetchAll(sending.prefixed(url), {
      headers: { host: 'a b@evil.example/' },
    });
    expect([strange.status, strange.headers.location]).toEqual([421, undefined]);
  });
});
