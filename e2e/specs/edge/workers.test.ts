/** Several processes behind one port. */

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { crowd } from '../../fixtures/clients/crowd.ts';
import { fetchAll } from '../../fixtures/clients/http-client.ts';
import { FaultOrigin } from '../../fixtures/faults/fault-origin.ts';
import { racesOf, usablePeers } from '../../fixtures/programs/cluster.ts';
import { EdgeProcess, temporaryFolder } from '../../fixtures/programs/processes.ts';
import { until } from '../../fixtures/until.ts';

const TOKEN = 'token of the administrator';

let origin: FaultOrigin;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
/** Shared by all tests, in their order: the first finds it new, the last one ends it. */
let edge: EdgeProcess;

beforeAll(async () => {
  origin = await FaultOrigin.start();
  folder = await temporaryFolder();
  await writeFile(join(folder.path, 'token'), TOKEN);
  edge = await start('--admin-token-file', join(folder.path, 'token'));
});

afterAll(async () => {
  await edge?.stop('SIGKILL');
  await origin.stop();
  await folder.remove();
});

const start = (...options: string[]): Promise<EdgeProcess> =>
  EdgeProcess.start([
    ...['--workers', '3', '--allow-origin', '127.0.0.1', '--chunk-size', '64KiB'],
    ...options,
  ]);

/** Returns the ids of an edge's processes, without the supervisor. */
async function workersOf(edge: EdgeProcess): Promise<number[]> {
  const { pid } = edge.child;
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return children.trim().split(' ').filter(Boolean).map(Number);
}

const workers = async (edge: EdgeProcess) => (await edge.status()).workers ?? [];

/** Waits until the workers know each other. Until then each asks the origin itself. */
async function untilMet(edge: EdgeProcess): Promise<void> {
  await until(async () => {
    const all = await workers(edge);
    return all.length === 3 && all.every(({ peers }) => peers === 2);
  });
}

describe('--workers', () => {
  test('all processes serve the clients of one port, and the origin sends the file once', async () => {
    await untilMet(edge);
    const url = origin.url('none', { seed: 'workers', size: 8_000_000 });
    origin.sentBytes = 0;
    const { outcomes } = await crowd([edge.prefixed(url)], 12);
    expect(outcomes).toEqual({ [`200 ${origin.digest(url)}`]: 12 });
    const races = await racesOf([edge]);
    expect(origin.sentBytes).toBeGreaterThanOrEqual(8_000_000);
    expect(origin.sentBytes).toBeLessThanOrEqual(8_000_000 + races * 65_536);
    const status = await edge.status();
    expect(status.bytes.toClients).toBe(12 * 8_000_000);
    const each = (status.workers ?? []).map(({ bytes }) => bytes.toClients);
    expect(each).toHaveLength(3);
    expect(Math.min(...each)).toBeGreaterThan(0);
    // One of the workers keeps each chunk; another one, too, keeps a chunk that it has raced for.
    const chunks = Math.ceil(8_000_000 / 65_536);
    expect(status.cache.memory.chunks).toBeGreaterThanOrEqual(chunks);
    expect(status.cache.memory.chunks).toBeLessThanOrEqual(chunks + (await racesOf([edge])));
    const metrics = await (await fetch(`${edge.url}/-/metrics`)).text();
    expect(metrics).toMatch(/^millrace_client_bytes_total 96000000$/m);
  });

  test('a process that dies is started again; the others keep running meanwhile', async () => {
    const before = await workersOf(edge);
    expect(before).toHaveLength(3);
    process.kill(before[1] as number, 'SIGKILL');
    await until(async () => !(await workersOf(edge)).includes(before[1] as number));
    const url = origin.url('none', { seed: 'restarted' });
    for (let i = 0; i < 6; i++) {
      expect((await fetchAll(edge.prefixed(url))).digest).toBe(origin.digest(url));
    }
    await until(async () => (await workers(edge)).length === 3);
    expect((await workersOf(edge)).length).toBe(3);
    for (let i = 0; i < 6; i++) {
      expect((await fetchAll(edge.prefixed(url))).digest).toBe(origin.digest(url));
    }
  });

  test('an edge whose port is taken says so and ends', async () => {
    const { port } = new URL(edge.url);
    await expect(start('--port', port)).rejects.toThrow(/EADDRINUSE.*\n.*--port/);
  });

  test('an edge of several processes and one of a single process are peers', async () => {
    const single = await EdgeProcess.start([
      ...['--peers', new URL(edge.url).host, '--name', 'single'],
      ...['--allow-origin', '127.0.0.1', '--chunk-size', '64KiB'],
    ]);
    try {
      await until(async () => (await usablePeers(single)).length === 3);
      await until(async () => (await usablePeers(edge)).join() === 'single');
      const url = origin.url('none', { seed: 'mixed', size: 4_000_000 });
      for (const through of [single, edge]) {
        expect((await fetchAll(through.prefixed(url))).digest).toBe(origin.digest(url));
      }
      const { forwards, peers } = await single.status();
      expect(forwards.all).toBeGreaterThan(0);
      // Clients cannot use the workers' ports for peers to evade the limits of the clients' port.
      for (const { url: inside } of peers) {
        expect(inside).not.toBe(edge.url);
        for (const path of [url, '-/status', '-/metrics', '']) {
          expect([path, (await fetchAll(`${inside}/${path}`)).status]).toEqual([path, 404]);
        }
      }
    } finally {
      await single.stop('SIGKILL');
    }
  });

  test('draining and SIGTERM apply to all processes', async () => {
    const headers = { authorization: `Bearer ${TOKEN}` };
    expect((await fetch(`${edge.url}/-/drain`, { method: 'POST', headers })).status).toBe(202);
    await until(async () => (await edge.status()).draining);
    for (let i = 0; i < 6; i++) {
      // Each connection goes to the next worker.
      expect((await fetchAll(edge.prefixed(origin.url('none')))).status).toBe(503);
    }
    // A worker that is started again drains as well.
    const [first = 0] = await workersOf(edge);
    process.kill(first, 'SIGKILL');
    await until(async () => !(await workersOf(edge)).includes(first));
    await until(async () => (await workers(edge)).length === 3 && (await edge.status()).draining);
    const processes = await workersOf(edge);
    expect(await edge.stop('SIGTERM')).toBe(0);
    for (const pid of processes) expect(() => process.kill(pid, 0)).toThrow();
  });
});
