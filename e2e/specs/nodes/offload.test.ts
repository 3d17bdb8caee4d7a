/** Transfers that an edge sends elsewhere (ANYCAST 3.3), and the edges that it names to clients. */

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import {
  type Fetched,
  fetchAll,
  openResponse,
  readAll,
} from '../../fixtures/clients/http-client.ts';
import { FaultOrigin } from '../../fixtures/faults/fault-origin.ts';
import { sha256 } from '../../fixtures/origins/content.ts';
import { Cluster } from '../../fixtures/programs/cluster.ts';
import { CliProcess, EdgeProcess, temporaryFolder } from '../../fixtures/programs/processes.ts';
import { becomes, until } from '../../fixtures/until.ts';

const TOKEN = 'token of the administrator';
const AWARE = { range: 'bytes=0-', prefer: 'resume-on-reset' };
const AUTHORIZED = { authorization: `Bearer ${TOKEN}` };

let origin: FaultOrigin;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let tokenFile: string;
const started: EdgeProcess[] = [];

beforeAll(async () => {
  origin = await FaultOrigin.start();
  folder = await temporaryFolder();
  tokenFile = join(folder.path, 'token');
  await writeFile(tokenFile, TOKEN);
});

afterEach(async () => {
  await Promise.all(started.splice(0).map((edge) => edge.stop('SIGKILL')));
});

afterAll(async () => {
  await origin.stop();
  await folder.remove();
});

async function start(...options: string[]): Promise<EdgeProcess> {
  const args = ['--allow-origin', '127.0.0.1', '--admin-token-file', tokenFile, ...options];
  const edge = await EdgeProcess.start(args);
  started.push(edge);
  return edge;
}

const drain = (edge: EdgeProcess, method = 'POST', headers: Record<string, string> = AUTHORIZED) =>
  fetch(`${edge.url}/-/drain`, { method, headers });

/** Whether the edge reset the response in the middle of the body, or answered 503 instead. */
const wasEnded = ({ status, complete }: Fetched) => status === 503 || !complete;

const active = async (edge: EdgeProcess) => (await edge.status()).transfers.active;

describe('draining', () => {
  test('needs the token', async () => {
    const edge = await start();
    expect((await drain(edge, 'POST', {})).status).toBe(401);
    expect((await drain(edge, 'POST', { authorization: 'Bearer wrong' })).status).toBe(401);
    expect((await fetch(`${edge.url}/-/ready`)).status).toBe(200);
    const without = await EdgeProcess.start(['--allow-origin', '127.0.0.1']);
    started.push(without);
    expect((await drain(without)).status).toBe(401);
  });

  test('resets aware clients at once, lets others finish, and can be called off', async () => {
    const edge = await start();
    origin.reset();
    const url = origin.url('gate', { seed: 'drained' });
    const aware = fetchAll(edge.prefixed(url), { headers: AWARE });
    const other = fetchAll(edge.prefixed(url));
    await until(async () => (await active(edge)) === 2 && origin.waiting > 0);
    expect((await drain(edge)).status).toBe(202);
    expect(wasEnded(await aware)).toBe(true);
    expect((await fetch(`${edge.url}/-/ready`)).status).toBe(503);
    expect((await fetchAll(edge.prefixed(url))).status).toBe(503);
    origin.openGate();
    expect((await other).digest).toBe(origin.digest(url));
    expect((await drain(edge, 'DELETE')).status).toBe(200);
    expect((await fetch(`${edge.url}/-/ready`)).status).toBe(200);
    expect((await fetchAll(edge.prefixed(url))).digest).toBe(origin.digest(url));
    expect((await edge.status()).clients.offloaded).toBe(1);
  });

  test('ends unfinished transfers after the grace time', async () => {
    const edge = await start('--grace', '100ms');
    origin.reset();
    const stuck = fetchAll(edge.prefixed(origin.url('gate', { seed: 'stuck' })));
    await until(() => origin.waiting > 0);
    await drain(edge);
    expect(wasEnded(await stuck)).toBe(true);
  });

  test('our own command line continues at another edge, unnoticed by the user', async () => {
    const [first, second] = [await start('--client-rate', '4MiB/s'), await start()];
    const url = origin.url('none', { seed: 'moved', size: 24_000_000 });
    const out = join(folder.path, 'moved.bin');
    const cli = new CliProcess([
      ...['get', url, '-o', out, '--edge', first.url, '--edge', second.url, '--edges-only'],
      ...['--connections', '2', '--json'],
    ]);
    await until(async () => (await first.status()).bytes.toClients > 1_000_000);
    await drain(first);
    const { code, stderr } = await cli.result;
    expect([code, stderr]).toEqual([0, '']);
    expect(sha256(await readFile(out))).toBe(origin.digest(url));
    expect((await second.status()).bytes.toClients).toBeGreaterThan(0);
  });
});

describe('above the limit', () => {
  test('the aware client with the most left to fetch is reset; the others get every byte', async () => {
    const edge = await start('--offload-above', '2');
    const long = origin.url('none', { seed: 'long', size: 64_000_000 });
    const short = origin.url('none', { seed: 'short', size: 24_000_000 });
    // Read no response before the edge has chosen, so that none ends first on any machine.
    const unaware = await openResponse(edge.prefixed(long));
    const shorter = await openResponse(edge.prefixed(short), { headers: AWARE });
    expect(await active(edge)).toBe(2);
    const response = await openResponse(edge.prefixed(long), { headers: AWARE });
    const broken = new Promise((resolve) => {
      response.on('error', (error: NodeJS.ErrnoException) => resolve(error.code));
    });
    await until(async () => (await edge.status()).clients.offloaded === 1);
    response.resume();
    expect(await broken).toBe('ECONNRESET');
    expect((await readAll(shorter)).digest).toBe(origin.digest(short));
    expect((await readAll(unaware)).digest).toBe(origin.digest(long));
    expect((await edge.status()).clients.offloaded).toBe(1);
  });
});

describe('/-/edges', () => {
  test('tells clients which nodes they can reach, by the names that routing uses', async () => {
    const url = (index: number) => `https://edge-${index}.example`;
    const cluster = await Cluster.start({
      nodes: 3,
      options: ['--allow-origin', '127.0.0.1', '--log-level', 'warn'],
      // The third node has no address for clients.
      perNode: (index) => (index === 2 ? [] : ['--public-url', url(index)]),
    });
    try {
      const response = await fetch(`${cluster.node(0).edge.url}/-/edges`);
      expect(response.headers.get('access-control-allow-origin')).toBe('*');
      const { chunkBytes, edges } = (await response.json()) as {
        chunkBytes: number;
        edges: { name: string; url: string; healthy: boolean; rttMs: number; weight: number }[];
      };
      expect(chunkBytes).toBe(512 * 1024);
      expect(edges.map((edge) => [edge.name, edge.url, edge.weight])).toEqual([
        ['node-0', url(0), 1],
        ['node-1', url(1), 1],
      ]);
      expect(edges[1]?.rttMs).toBeGreaterThan(0);
      // A node may be away for a moment on a busy machine.
      await becomes(async () => {
        const list = await (await fetch(`${cluster.node(0).edge.url}/-/edges`)).json();
        return list.edges.map((edge: { healthy: boolean }) => edge.healthy);
      }, [true, true]);
    } finally {
      await cluster.stop();
    }
  });
});
