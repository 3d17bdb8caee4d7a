/** Attacks by mass: slow headers, slow readers, and ranges of single bytes. */

import { mkdir, truncate, writeFile } from 'node:fs/promises';
import { Agent } from 'node:http';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, expect, test } from '@jest/globals';
import { fetchAll } from '../../fixtures/clients/http-client.ts';
import { rawConnect } from '../../fixtures/clients/raw-client.ts';
import { sha256 } from '../../fixtures/origins/content.ts';
import { Nginx, nginxOrComplain } from '../../fixtures/origins/nginx.ts';
import { WideOrigin, wideBytes } from '../../fixtures/origins/wide-origin.ts';
import { EdgeProcess, temporaryFolder } from '../../fixtures/programs/processes.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';
import { until } from '../../fixtures/until.ts';

const KiB = 1024;
const MiB = 1024 * KiB;
const GiB = 1024 * MiB;
const CHUNK = 64 * KiB;
const origin = await WideOrigin.start();
const sockets: Socket[] = [];
let edge: EdgeProcess | undefined;
let nginx: Nginx | undefined;
let folder: Awaited<ReturnType<typeof temporaryFolder>> | undefined;

async function start(...options: string[]): Promise<EdgeProcess> {
  edge = await EdgeProcess.start([
    ...['--allow-origin', '127.0.0.1', '--log-level', 'warn', '--client-requests', '0'],
    ...options,
  ]);
  return edge;
}

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await edge?.stop('SIGKILL');
});
afterAll(async () => {
  await nginx?.stop();
  await folder?.remove();
  await origin.stop();
});

/** Expects that a well-behaved client gets its file. */
async function isServed(e: EdgeProcess, name: string): Promise<void> {
  const size = 3_000_000;
  const got = await fetchAll(e.prefixed(origin.url(name, size)));
  expect([got.status, got.digest]).toEqual([200, sha256(wideBytes(0, size))]);
}

test('slow headers: a client that does not finish is disconnected, and nobody else', async () => {
  const e = await start();
  const ends: Promise<string>[] = [];
  for (let i = 0; i < 300; i++) {
    const socket = await rawConnect(e.url);
    sockets.push(socket);
    // These clients send nothing, a part of a line, a part of the header, or a header without its
    // body.
    socket.write(
      [
        '',
        'GE',
        'GET / HTTP/1.1\r\nHost: x\r\nX: ',
        'POST /-/x HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n',
      ][i % 4] as string,
    );
    let text = '';
    socket.on('data', (piece) => {
      text += piece;
    });
    ends.push(new Promise((resolve) => socket.once('close', () => resolve(text))));
  }
  // Three of them continue for ever, a byte at a time.
  const dripping = setInterval(() => {
    for (const socket of sockets.slice(1, 4)) if (socket.writable) socket.write('a');
  }, 500);
  await isServed(e, 'meanwhile');
  const answers = await Promise.all(ends);
  clearInterval(dripping);
  for (const answer of answers) expect(answer).toMatch(/^(|HTTP\/1\.1 40[08] .*)$/s);
  expect(answers.filter((answer) => answer.startsWith('HTTP/1.1 408')).length).toBeGreaterThan(100);
  await isServed(e, 'afterwards');
});

const withNginx = testsWhere(nginxOrComplain('slow readers'));

withNginx.test(
  '1,000 slow readers: memory is bounded, and others get their files',
  async () => {
    folder = await temporaryFolder();
    const root = join(folder.path, 'root');
    await mkdir(root);
    // A sparse file of 8 GiB that takes no disk space, and a file for well-behaved clients.
    await writeFile(join(root, 'endless'), '');
    await truncate(join(root, 'endless'), 8 * GiB);
    const file = wideBytes(0, 3_000_000);
    await writeFile(join(root, 'file'), file);
    nginx = await Nginx.start({ dir: join(folder.path, 'nginx'), root });
    const { url } = nginx;
    const e = await start('--cache-memory', '32MiB', '--client-transfers', '0');
    const before = await e.peakBytes();
    let answered = 0;
    await Promise.all(
      Array.from({ length: 1000 }, async (_, i) => {
        const socket = await rawConnect(e.url);
        sockets.push(socket);
        socket.once('readable', () => answered++);
        // The query makes each a file of its own to the edge, so that no chunk is shared.
        socket.write(`GET /${url}/endless?${i} HTTP/1.1\r\nHost: x\r\n\r\n`);
      }),
    );
    // In steps, as all of them take minutes on a busy machine.
    for (let most = 25; most <= 1000; most += 25) await until(() => answered >= most);
    for (let i = 0; i < 10; i++) {
      const got = await fetchAll(e.prefixed(`${url}/file?${i}`));
      expect([got.status, got.digest]).toEqual([200, sha256(file)]);
    }
    expect((await e.status()).transfers.active).toBeGreaterThan(0);
    // Memory for one chunk per reader, and the garbage of a thousand connections.
    expect((await e.peakBytes()) - before).toBeLessThan(1.5 * GiB);
  },
  900_000,
);

test('10,000 ranges of one byte: the origin sends in proportion to what is taken', async () => {
  const e = await start('--chunk-size', '64KiB', '--cache-memory', '1MiB');
  const file = origin.url('ranges', 64 * GiB);
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });
  const begunAt = performance.now();
  const before = origin.sentBytes;
  const outcomes = new Map<number, number>();
  let retryAfter = 0;
  let next = 0;
  const ask = async () => {
    while (next < 10_000) {
      const at = next++ * 6 * MiB;
      const headers = { range: `bytes=${at}-${at}` };
      const got = await fetchAll(e.prefixed(file), { agent, headers });
      outcomes.set(got.status, (outcomes.get(got.status) ?? 0) + 1);
      if (got.status === 206) expect(got.body.equals(wideBytes(at, at + 1))).toBe(true);
      else retryAfter = Math.max(retryAfter, Number(got.headers['retry-after']));
    }
  };
  await Promise.all(Array.from({ length: 16 }, ask));
  agent.destroy();
  const seconds = (performance.now() - begunAt) / 1000;
  expect([...outcomes.keys()].sort()).toEqual([206, 429]);
  expect(retryAfter).toBeGreaterThanOrEqual(1);
  // The allowance, its growth over the time, and the chunks in flight when it ran out.
  const bound = (256 + seconds + 17) * CHUNK + 10 * (outcomes.get(206) ?? 0);
  expect(origin.sentBytes - before).toBeLessThanOrEqual(bound);
});

test('single bytes here and there in a cached file cost the origin nothing', async () => {
  const e = await start('--chunk-size', '64KiB');
  const size = 400 * CHUNK;
  const file = e.prefixed(origin.url('known', size));
  expect((await fetchAll(file)).digest).toBe(sha256(wideBytes(0, size)));
  const before = origin.requests;
  const agent = new Agent({ keepAlive: true });
  for (let i = 0; i < 1000; i++) {
    const at = (i * 7919 * 1000) % size;
    const got = await fetchAll(file, { agent, headers: { range: `bytes=${at}-${at}` } });
    expect(got.status).toBe(206);
  }
  agent.destroy();
  expect(origin.requests).toBe(before);
});

test('a client’s HEAD requests for ever new names count like requests for their bytes', async () => {
  const e = await start('--chunk-size', '64KiB', '--cache-memory', '1MiB');
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  const before = origin.requests;
  let next = 0;
  let refused = 0;
  const ask = async () => {
    while (next < 1000) {
      const got = await fetchAll(e.prefixed(origin.url(`name-${next++}`, MiB)), {
        agent,
        method: 'HEAD',
      });
      if (got.status === 429) refused++;
      else expect(got.status).toBe(200);
    }
  };
  await Promise.all(Array.from({ length: 8 }, ask));
  agent.destroy();
  expect(refused).toBe(1000 - (origin.requests - before));
  expect(refused).toBeGreaterThan(100);
});
