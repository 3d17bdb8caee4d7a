/** Edges that get their certificate by themselves. */

import { access, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { afterAll, afterEach, beforeEach, expect, test } from '@jest/globals';
import { AcmeAuthority } from '../../fixtures/origins/acme-authority.ts';
import { freePorts } from '../../fixtures/origins/nginx.ts';
import { EdgeProcess } from '../../fixtures/programs/processes.ts';
import { until } from '../../fixtures/until.ts';

const folder = await mkdtemp(join(tmpdir(), 'millrace-acme-'));
const authority = await AcmeAuthority.start(folder);
const started: EdgeProcess[] = [];
let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(join(folder, 'edge-'));
  authority.refuses = false;
});
afterEach(() => Promise.all(started.splice(0).map((edge) => edge.stop('SIGKILL'))));
afterAll(async () => {
  await authority.stop();
  await rm(folder, { recursive: true });
});

/** Starts an edge that orders a certificate, with a port for TLS and one without. */
async function start(...options: string[]): Promise<EdgeProcess> {
  const port = await freePorts(1);
  authority.port = port;
  return startAlone('--http-port', `${port}`, '--http-answers', 'redirect', ...options);
}

/** Starts an edge that orders a certificate, with a port for TLS alone. */
async function startAlone(...options: string[]): Promise<EdgeProcess> {
  const port = await freePorts(1);
  authority.tlsPort = port;
  const edge = await EdgeProcess.start([
    ...['--tls-cert', join(dir, 'cert.pem'), '--tls-key', join(dir, 'key.pem')],
    ...['--port', `${port}`, '--acme-name', 'localhost', '--acme-directory', authority.directory],
    ...['--allow-origin', '127.0.0.1', ...options],
  ]);
  started.push(edge);
  return edge;
}

/** Returns true if the edge shows a certificate that the authority has signed. */
function isTrusted(edge: EdgeProcess): Promise<boolean> {
  const { hostname: host, port } = new URL(edge.secureUrl);
  return new Promise((resolve) => {
    const how = { host, port: Number(port), servername: 'localhost', ca: authority.ca };
    const socket = connect(how, () => resolve(socket.authorized) as never);
    socket.on('secureConnect', () => socket.destroy()).on('error', () => resolve(false));
  });
}

test('a certificate comes while the edge runs, to all its processes', async () => {
  const edge = await start('--workers', '2');
  await until(async () => {
    // Connections go to the processes in turn.
    const all = await Promise.all([1, 2, 3, 4].map(() => isTrusted(edge)));
    return all.every((trusted) => trusted);
  });
  expect([authority.placed, authority.met]).toEqual([1, ['http-01']]);
  for (const name of ['cert.pem', 'key.pem', 'acme/account.key', 'acme/state.json']) {
    expect([name, (await stat(join(dir, name))).mode & 0o777]).toEqual([name, 0o600]);
  }
  await edge.stop();
  // A restart orders nothing, and an account is used again.
  const again = await start();
  expect(await isTrusted(again)).toBe(true);
  await again.stop();
  // A process that was killed between the two files has left the key of another certificate.
  await writeFile(join(dir, 'key.pem'), await readFile(join(dir, 'acme/account.key')));
  const renewed = await start();
  await until(() => isTrusted(renewed));
  expect(authority.placed).toBe(2);
  await renewed.stop();
});

test('a certificate is renewed when its authority wants it, and names the one that it replaces', async () => {
  const placed = authority.placed;
  const says = (edge: EdgeProcess) => edge.log.find((line) => line.includes('says when to renew'));
  // The processes of an edge with a port for TLS alone show their name there.
  const first = await startAlone('--workers', '2');
  await until(() => isTrusted(first));
  expect(authority.met.at(-1)).toBe('tls-alpn-01');
  await expect(access(join(dir, 'acme/challenge.pem'))).rejects.toThrow('ENOENT');
  await first.stop();
  authority.early = authority.askedAbout.length + 1;
  const cert = () => readFile(join(dir, 'cert.pem'), 'utf8');
  const before = await cert();
  const second = await start();
  await until(async () => (await cert()) !== before);
  expect(authority.placed).toBe(placed + 2);
  const early = authority.askedAbout.at(-1);
  expect(authority.replaced).toEqual([early]);
  await second.stop();
  // The authority wants the new one in a month only, before the time that the edge would choose.
  const third = await start();
  await until(() => says(third) !== undefined);
  const next = Date.parse(JSON.parse(says(third) ?? '{}').next) - Date.now();
  expect([next > 29 * 86_400_000, next < 32 * 86_400_000]).toEqual([true, true]);
  expect(authority.askedAbout.at(-1)).not.toBe(early);
  await third.stop();
  expect(authority.placed).toBe(placed + 2);
});

test('a failed order is shown, and tried again later, over a restart as well', async () => {
  authority.refuses = true;
  const placed = authority.placed;
  const edge = await start();
  await until(() => edge.log.some((line) => line.includes('no certificate has come')));
  expect(edge.log.find((line) => line.includes('no certificate'))).toContain('no orders today');
  const plain = `http://127.0.0.1:${authority.port}`;
  const text = await (await fetch(`${plain}/-/metrics`)).text();
  expect(text).toMatch(/\nmillrace_certificate_order_failures 1\n/);
  expect((await fetch(`${plain}/.well-known/acme-challenge/x`)).status).toBe(404);
  await edge.stop();
  const state = JSON.parse(await readFile(join(dir, 'acme/state.json'), 'utf8'));
  expect(state.nextAt - state.failed.at).toBeGreaterThanOrEqual(15 * 60_000);
  authority.refuses = false;
  const again = await start();
  expect(authority.placed).toBe(placed + 1);
  await again.stop();
});
