/** The chunk cache: restarts, kills, damage, sharing of fetches, versions. */

import { readdir, readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { fetchAll, openResponse } from '../../fixtures/clients/http-client.ts';
import { FaultOrigin } from '../../fixtures/faults/fault-origin.ts';
import { sha256 } from '../../fixtures/origins/content.ts';
import { freshFile, ScriptedOrigin } from '../../fixtures/origins/scripted-origin.ts';
import { EdgeProcess, temporaryFolder } from '../../fixtures/programs/processes.ts';
import { layFirstCache } from '../../fixtures/stages/first-cache.ts';
import { until } from '../../fixtures/until.ts';

const origin = await FaultOrigin.start();
const CHUNK_BYTES = 65_536;
const COMMON = ['--allow-origin', '127.0.0.1', '--chunk-size', '64KiB'];

afterAll(() => origin.stop());

describe('the disk tier', () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  let edge: EdgeProcess;

  beforeEach(async () => {
    folder = await temporaryFolder();
    origin.reset();
  });

  afterEach(async () => {
    await edge.stop('SIGKILL');
    await folder.remove();
  });

  function start(more: string[] = []): Promise<EdgeProcess> {
    // With no room in memory, a chunk is kept on disk or nowhere.
    const cache = ['--cache-dir', folder.path, '--cache-memory', '0'];
    return EdgeProcess.start([...COMMON, ...cache, ...more]);
  }

  async function records(): Promise<string[]> {
    const folders = (await readdir(folder.path)).filter((name) => name.length === 2);
    const names = await Promise.all(
      folders.map(async (f) =>
        (await readdir(join(folder.path, f))).map((n) => join(folder.path, f, n)),
      ),
    );
    return names.flat();
  }

  const url = origin.url('one-hour', { seed: 'disk' });
  const chunks = Math.ceil(1_500_000 / CHUNK_BYTES);

  /** Starts the edge, and has it fetch a file. */
  async function fill(): Promise<void> {
    edge = await start();
    expect((await fetchAll(edge.prefixed(url))).digest).toBe(origin.digest(url));
    // The edge writes chunks in the background. The pointer is a record too.
    await until(async () => (await edge.status()).cache.disk?.records === chunks + 1);
    origin.reset();
  }

  test('survives a restart: the origin is not asked again', async () => {
    await fill();
    await edge.stop();
    edge = await start();
    const got = await fetchAll(edge.prefixed(url));
    expect(got.digest).toBe(origin.digest(url));
    expect(got.headers['cache-status']).toMatch(/; hit; ttl=/);
    expect(origin.requests).toHaveLength(0);
  });

  test('survives an upgrade from the first version: no byte of the origin is asked for', async () => {
    const { url: old, records } = await layFirstCache(join(folder.path, 'first'), origin);
    edge = await start(['--cache-dir', join(folder.path, 'first')]);
    expect((await edge.status()).cache.disk).toMatchObject({ records, damaged: 0 });
    const range = { range: 'bytes=65530-131080' };
    const part = sha256(origin.content(old).subarray(65_530, 131_081));
    expect((await fetchAll(edge.prefixed(old), { headers: range })).digest).toBe(part);
    expect((await fetchAll(edge.prefixed(old))).digest).toBe(origin.digest(old));
    // The origin was asked whether its version is still that one; that took no byte of the file.
    expect(origin.sentBytes).toBe(0);
    expect((await edge.status()).cache.disk).toMatchObject({ records, damaged: 0 });
  });

  test('survives kill -9', async () => {
    await fill();
    await edge.stop('SIGKILL');
    edge = await start();
    expect((await fetchAll(edge.prefixed(url))).digest).toBe(origin.digest(url));
    expect(origin.requests).toHaveLength(0);
  });

  test('kill -9 while it is being filled leaves only whole records', async () => {
    edge = await start();
    for (let round = 0; round < 5; round++) {
      const other = origin.url('one-hour', { seed: `killed-${round}`, size: 6_000_000 });
      const response = await openResponse(edge.prefixed(other));
      response.on('error', () => {});
      response.resume();
      await until(async () => (await records()).length > round * 20);
      await edge.stop('SIGKILL');
      edge = await start();
      expect((await fetchAll(edge.prefixed(other))).digest).toBe(origin.digest(other));
      expect((await edge.status()).cache.disk?.damaged).toBe(0);
    }
  });

  test.each([
    ['altered', async (path: string) => flipByte(path, 5000)],
    ['altered in its header', async (path: string) => flipByte(path, 20)],
    ['torn', (path: string) => truncate(path, 30_000)],
    ['empty', (path: string) => truncate(path, 0)],
  ])('a record that is %s is dropped and fetched again', async (_how, damage) => {
    await fill();
    const damaged = (await records()).slice(0, 3);
    for (const path of await records()) {
      if (damaged.includes(path)) await damage(path);
    }
    for (let i = 0; i < 2; i++) {
      expect((await fetchAll(edge.prefixed(url))).digest).toBe(origin.digest(url));
    }
    expect((await edge.status()).cache.disk?.damaged).toBeGreaterThan(0);
    expect(origin.sentBytes).toBeGreaterThan(0);
    expect(origin.sentBytes).toBeLessThanOrEqual(4 * CHUNK_BYTES);
  });

  test('stays within its size', async () => {
    edge = await start(['--cache-disk', '1MiB']);
    for (let i = 0; i < 3; i++) {
      const big = origin.url('none', { seed: `big-${i}`, size: 2_000_000 });
      expect((await fetchAll(edge.prefixed(big))).digest).toBe(origin.digest(big));
    }
    expect((await edge.status()).cache.disk?.bytes).toBeLessThanOrEqual(1_048_576);
    await until(async () => (await records()).length <= 16);
  });
});

async function flipByte(path: string, position: number): Promise<void> {
  const data = await readFile(path);
  const at = Math.min(position, data.length - 1);
  data.writeUInt8(data.readUInt8(at) ^ 1, at);
  await writeFile(path, data);
}

test('a file where the folder should be is refused at the start', async () => {
  const folder = await temporaryFolder();
  const path = join(folder.path, 'file');
  await writeFile(path, '');
  await expect(EdgeProcess.start([...COMMON, '--cache-dir', path])).rejects.toThrow(/cannot start/);
  await folder.remove();
});

test('files that are read once do not push out of memory what is read again and again', async () => {
  const edge = await EdgeProcess.start([...COMMON, '--cache-memory', '8MiB']);
  try {
    const read = async (seed: string, size: number) => {
      const url = origin.url('one-hour', { seed, size });
      expect((await fetchAll(edge.prefixed(url))).digest).toBe(origin.digest(url));
    };
    for (let i = 0; i < 2; i++) await read('again', 2_000_000);
    for (let i = 0; i < 8; i++) await read(`once-${i}`, 4_000_000);
    origin.reset();
    await read('again', 2_000_000);
    expect(origin.sentBytes).toBe(0);
  } finally {
    await edge.stop('SIGKILL');
  }
});

describe('single flight', () => {
  let edge: EdgeProcess;

  beforeAll(async () => {
    edge = await EdgeProcess.start([...COMMON, '--origin-timeout', '20s']);
  });

  beforeEach(() => origin.reset());

  afterAll(() => edge.stop('SIGKILL'));

  test('the first client leaving does not fail the others', async () => {
    const url = origin.url('gate', { seed: 'first-leaves' });
    const first = await openResponse(edge.prefixed(url)).catch(() => undefined);
    void first;
    const leaving = fetchUntilAborted(edge.prefixed(url));
    await until(() => origin.requests.length >= 2);
    const staying = fetchAll(edge.prefixed(url));
    await until(async () => (await edge.status()).transfers.active === 3);
    leaving.abort();
    await until(async () => (await edge.status()).transfers.active === 2);
    first?.resume();
    origin.openGate();
    expect((await staying).digest).toBe(origin.digest(url));
  });

  test('the last client leaving cancels the fetch', async () => {
    const url = origin.url('gate', { seed: 'last-leaves' });
    const clients = [1, 2, 3].map(() => fetchUntilAborted(edge.prefixed(url)));
    await until(() => origin.waiting > 0);
    for (const client of clients) client.abort();
    await until(() => origin.waiting === 0);
    origin.openGate();
    // A client that comes later gets the file.
    expect((await fetchAll(edge.prefixed(url))).digest).toBe(origin.digest(url));
  });
});

function fetchUntilAborted(url: string): AbortController {
  const controller = new AbortController();
  void fetch(url, { signal: controller.signal })
    .then((response) => response.arrayBuffer())
    .catch(() => {});
  return controller;
}

describe('versions', () => {
  let edge: EdgeProcess;

  beforeAll(async () => {
    edge = await EdgeProcess.start(COMMON);
  });

  beforeEach(() => origin.reset());

  afterAll(() => edge.stop('SIGKILL'));

  test.each(['changed-in-the-middle', 'changed-dates-only', 'conditions-ignored'])(
    '%s: the running response is reset, and the very next one is the whole new file',
    async (fault) => {
      const url = origin.url(fault, { seed: `version-${fault}` });
      const running = await fetchAll(edge.prefixed(url));
      // If the change showed before the first byte was sent, the client gets a clear error.
      expect(running.complete ? running.status : 'reset').not.toBe(200);
      if (running.status === 200) {
        const old = origin.content(url).subarray(0, running.body.length);
        expect(running.body.equals(old)).toBe(true);
      }
      const next = await fetchAll(edge.prefixed(url));
      expect(next).toMatchObject({ status: 200, complete: true });
      expect(next.digest).toBe(origin.digest(url, 2));
    },
  );

  test('a replaced file is served in its new version once the old one is not fresh', async () => {
    const url = origin.url('no-cache', { seed: 'replaced' });
    expect((await fetchAll(edge.prefixed(url))).digest).toBe(origin.digest(url));
    origin.replace(url, 2);
    expect((await fetchAll(edge.prefixed(url))).digest).toBe(origin.digest(url, 2));
  });

  test('a client that resumes the old version gets the new one whole', async () => {
    const url = origin.url('no-cache', { seed: 'resumed' });
    const first = await fetchAll(edge.prefixed(url));
    origin.replace(url, 2);
    const headers = { range: 'bytes=1000-', 'if-range': String(first.headers.etag) };
    const got = await fetchAll(edge.prefixed(url), { headers });
    expect(got.status).toBe(200);
    expect(got.digest).toBe(origin.digest(url, 2));
  });

  test('a cached file is served while its origin is down', async () => {
    const url = origin.url('stale', { seed: 'down' });
    expect((await fetchAll(edge.prefixed(url))).digest).toBe(origin.digest(url));
    origin.replace(url, 'down');
    const got = await fetchAll(edge.prefixed(url));
    expect(got.digest).toBe(origin.digest(url));
    expect(got.headers['cache-status']).toMatch(/detail=stale-origin-down/);
  });

  test('a cached file is served while its origin is silent, which is asked on', async () => {
    const scripted = await ScriptedOrigin.start();
    const impatient = await EdgeProcess.start([...COMMON, '--origin-timeout', '6s']);
    try {
      const { promise: hold, resolve: speak } = Promise.withResolvers<void>();
      const stale = (body: string) => freshFile(body, { 'cache-control': 'max-age=0' });
      const second = { ...stale('second'), hold };
      const url = scripted.script('/release', stale('first'), second, stale('second'));
      const get = () => fetchAll(impatient.prefixed(url));
      expect((await get()).body.toString()).toBe('first');
      const late = await get();
      expect([late.status, late.body.toString()]).toEqual([200, 'first']);
      expect(late.headers['cache-status']).toMatch(/hit; ttl=-?\d+; detail=stale-origin-silent/);
      // On a slow machine the silence may be a failure by now.
      expect((await get()).headers['cache-status']).toMatch(/detail=stale-origin-(silent|down)/);
      speak();
      await until(async () => (await get()).body.toString() === 'second');
    } finally {
      await impatient.stop('SIGKILL');
      await scripted.stop();
    }
  });

  test('a file that the origin has removed is not served any more', async () => {
    const url = origin.url('stale', { seed: 'removed' });
    await fetchAll(edge.prefixed(url));
    origin.replace(url, 'gone');
    expect((await fetchAll(edge.prefixed(url))).status).toBe(410);
  });
});
