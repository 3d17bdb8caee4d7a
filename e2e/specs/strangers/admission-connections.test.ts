/** Connections: one address cannot take them all. */

import { once } from 'node:events';
import { Agent } from 'node:http';
import { get, Agent as SecureAgent } from 'node:https';
import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { fetchAll, readAll } from '../../fixtures/clients/http-client.ts';
import { rawConnect } from '../../fixtures/clients/raw-client.ts';
import { makeCertificate } from '../../fixtures/origins/certificate.ts';
import { sha256 } from '../../fixtures/origins/content.ts';
import { WideOrigin, wideBytes } from '../../fixtures/origins/wide-origin.ts';
import {
  EdgeProcess,
  type EdgeStatus,
  type ResourceUse,
  temporaryFolder,
} from '../../fixtures/programs/processes.ts';
import { until } from '../../fixtures/until.ts';

const MAX = 40;
const SHARE = 10;
const SIZE = 3_000_000;
/** Address of a second client: all other connections come from the first. */
const OTHER = '127.0.0.2';
const PROXY = '127.0.0.3';
const proxied = new Agent({ localAddress: PROXY, keepAlive: true, maxSockets: 1 });
const sockets: Socket[] = [];
let origin: WideOrigin;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let edge: EdgeProcess;

beforeAll(async () => {
  origin = await WideOrigin.start();
  folder = await temporaryFolder();
  const { cert, key } = makeCertificate(folder.path, 'edge');
  edge = await EdgeProcess.start([
    ...['--tls-cert', cert, '--tls-key', key, '--http-port', '0', '--log-level', 'warn'],
    ...['--allow-origin', '127.0.0.1', '--client-requests', '0', '--client-transfers', '0'],
    ...['--max-connections', String(MAX), '--client-connections', String(SHARE)],
    ...['--trusted-proxy', PROXY],
  ]);
});
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});
afterAll(async () => {
  proxied.destroy();
  await edge.stop('SIGKILL');
  await origin.stop();
  await folder.remove();
});

/** Waits for a connection to open, and keeps it until the test ends. */
async function opened(socket: Socket, event: string): Promise<Socket> {
  sockets.push(socket);
  socket.on('error', () => {});
  // The edge may close the connection at once.
  await Promise.race([once(socket, event), once(socket, 'close')]).catch(() => {});
  return socket;
}

/** Reads the status as a trusted proxy, whose connection is not closed to make room. */
async function status(): Promise<EdgeStatus> {
  const { body } = await fetchAll(`${edge.url}/-/status`, { agent: proxied });
  return JSON.parse(String(body)) as EdgeStatus;
}

async function connections(): Promise<ResourceUse> {
  return (await status()).admission.connections as ResourceUse;
}

const alive = () => sockets.filter((socket) => !socket.closed).length;

test('an address that holds all connections, idle or with half a header, keeps no other out', async () => {
  const before = await connections();
  for (let i = 0; i < MAX + 20; i++) {
    const socket = await rawConnect(edge.url);
    sockets.push(socket);
    socket.resume();
    socket.write(['', 'GET / HTTP/1.1\r\nHost: x\r\nX: '][i % 2] as string);
  }
  await until(async () => (await connections()).evicted >= before.evicted + 20);
  for (let i = 0; i < 3; i++) {
    const agent = new Agent({ localAddress: OTHER });
    const got = await fetchAll(edge.prefixed(origin.url(`idle${i}`, SIZE)), { agent });
    expect([got.status, got.digest]).toEqual([200, sha256(wideBytes(0, SIZE))]);
    agent.destroy();
  }
  expect(await connections()).toMatchObject({ limit: MAX, perClient: SHARE });
  expect((await connections()).use).toBeLessThanOrEqual(MAX);
  await until(() => alive() <= MAX);
});

test('an address that holds all TLS connections, with or without a handshake, keeps no other out', async () => {
  const { evicted } = await connections();
  const port = Number(new URL(edge.secureUrl).port);
  for (let i = 0; i < MAX + 20; i++) {
    if (i % 2 === 0) sockets.push(await rawConnect(edge.secureUrl));
    else {
      const options = { port, host: '127.0.0.1', rejectUnauthorized: false };
      await opened(connectTls(options), 'secureConnect');
    }
    sockets.at(-1)?.resume();
  }
  await until(async () => (await connections()).evicted >= evicted + 20);
  const agent = new SecureAgent({ localAddress: OTHER, rejectUnauthorized: false });
  const asked = get(`${edge.secureUrl}/${origin.url('secure', SIZE)}`, { agent });
  const [response] = await once(asked, 'response');
  const got = await readAll(response);
  expect([got.status, got.digest]).toEqual([200, sha256(wideBytes(0, SIZE))]);
  agent.destroy();
  await until(async () => ((await connections()).use as number) <= MAX);
});

test('an address with a transfer on every connection loses those beyond its share, by a reset', async () => {
  const size = 200_000_000;
  const target = new URL(edge.prefixed(origin.url('large', size)));
  const ends: Promise<Error | undefined>[] = [];
  for (let i = 0; i < MAX - 1; i++) {
    const socket = await rawConnect(edge.url);
    sockets.push(socket);
    ends.push(
      new Promise((resolve) => {
        socket.once('error', resolve);
        socket.once('end', () => resolve(undefined));
      }),
    );
    // The client takes the beginning and nothing more.
    socket.once('data', () => socket.pause());
    socket.write(`GET ${target.href.slice(edge.url.length)} HTTP/1.1\r\n`);
    socket.write('Host: x\r\n\r\n');
  }
  await until(async () => (await status()).transfers.active >= MAX - 1);
  for (let i = 0; i < 3; i++) {
    const agent = new Agent({ localAddress: OTHER, keepAlive: true });
    const got = await fetchAll(edge.prefixed(origin.url(`busy${i}`, SIZE)), { agent });
    expect([got.status, got.digest]).toEqual([200, sha256(wideBytes(0, SIZE))]);
  }
  expect((await connections()).evicted).toBeGreaterThan(0);
  for (const socket of sockets) socket.resume();
  expect(await Promise.race(ends)).toMatchObject({ code: 'ECONNRESET' });
});

test('connections of a trusted proxy are not closed to make room', async () => {
  const before = await fetchAll(edge.prefixed(origin.url('proxy', SIZE)), { agent: proxied });
  expect(before.status).toBe(200);
  const [socket] = Object.values(proxied.freeSockets).flat();
  expect(socket).toBeDefined();
  const { evicted } = await connections();
  for (let i = 0; i < 2 * MAX; i++) sockets.push(await rawConnect(edge.url));
  await until(async () => (await connections()).evicted >= evicted + MAX);
  const again = await fetchAll(edge.prefixed(origin.url('proxy', SIZE)), { agent: proxied });
  expect(again.status).toBe(200);
  expect(Object.values(proxied.freeSockets).flat()[0]).toBe(socket);
});
