/** Prefetching, pinning, and what of administration reaches all processes and the command line. */

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { ADMIN_TOKEN, ask } from '../fixtures/admin-client.ts';
import { Cluster } from '../fixtures/cluster.ts';
import { contentOf, sha256 } from '../fixtures/content.ts';
import { FileServer } from '../fixtures/file-server.ts';
import { fetchAll } from '../fixtures/http-client.ts';
import { EdgeProcess, runCli, temporaryFolder } from '../fixtures/processes.ts';
import { until } from '../fixtures/until.ts';

const BYTES = 300_000;
const FRESH = { headers: { 'cache-control': 'max-age=86400' } };
const COMMON = ['--allow-origin', '127.0.0.1', '--chunk-size', '64KiB'];
const KIB = 1024;

let origin: FileServer;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let tokenFile: string;
let edge: EdgeProcess;
let files = 0;
const started: EdgeProcess[] = [];
let network: Cluster | undefined;

beforeAll(async () => {
  origin = await FileServer.start();
  folder = await temporaryFolder();
  tokenFile = join(folder.path, 'token');
  await writeFile(tokenFile, ADMIN_TOKEN);
  const quota = ['--pin-quota', '400KiB', '--cache-memory', '800KiB', '--pin-max', '1h'];
  edge = await EdgeProcess.start([...COMMON, '--admin-token-file', tokenFile, ...quota]);
});

afterEach(async () => {
  await Promise.all(started.splice(0).map((one) => one.stop('SIGKILL')));
  await network?.stop();
  network = undefined;
});

afterAll(async () => {
  await edge.stop('SIGKILL');
  await origin.stop();
  await folder.remove();
});

async function start(...options: string[]): Promise<EdgeProcess> {
  const one = await EdgeProcess.start([...COMMON, '--admin-token-file', tokenFile, ...options]);
  started.push(one);
  return one;
}

/** A new file at the origin. */
function publish(bytes = BYTES, more = {}) {
  const path = `/file-${++files}`;
  const body = contentOf(path, bytes);
  origin.add(path, { ...FRESH, body, ...more });
  return { url: origin.url(path), path, digest: sha256(body) };
}

const digestThrough = async (through: EdgeProcess, url: string) =>
  (await fetchAll(through.prefixed(url))).digest;

/** What the origin sends while something is done. */
async function originBytes(act: () => Promise<unknown>): Promise<number> {
  const before = origin.sentBytes;
  await act();
  return origin.sentBytes - before;
}

/** Waits for the end of a prefetch, which must go forward. */
async function ended(through: EdgeProcess, id: string) {
  let done = 0;
  for (;;) {
    const { body } = await ask(through, 'GET', `prefetch/${id}`);
    expect(body.doneBytes).toBeGreaterThanOrEqual(done);
    done = body.doneBytes;
    if (body.state !== 'running' && body.state !== 'waiting') return body;
  }
}

describe('the interface', () => {
  test.each([
    ['POST', 'purge'],
    ['POST', 'prefetch'],
    ['GET', 'prefetch'],
    ['DELETE', 'prefetch/x'],
    ['POST', 'pins'],
    ['GET', 'pins'],
    ['PATCH', 'pins/x'],
    ['DELETE', 'pins/x'],
  ])('%s %s takes the token', async (method, path) => {
    const body = method === 'GET' || method === 'DELETE' ? undefined : { all: true };
    for (const token of ['', 'wrong', `${ADMIN_TOKEN}x`]) {
      const answer = await ask(edge, method, path, body, token);
      expect(answer).toMatchObject({ status: 401, body: { code: 'token-required' } });
      expect(answer.headers.get('www-authenticate')).toBe('Bearer');
    }
  });

  test.each([
    ['purge', {}, 400, 'bad-option'],
    ['purge', { url: 'http://127.0.0.1/', extra: 1 }, 400, 'bad-option'],
    ['purge', { url: 'http://127.0.0.1/', prefix: 'http://127.0.0.1/' }, 400, 'bad-option'],
    ['purge', { url: 'nonsense' }, 400, 'bad-url'],
    ['purge', { prefix: 'http://127.0.0.1/v1' }, 400, 'bad-url'],
    ['purge', { url: 'http://127.0.0.1/', version: 'W/"weak"' }, 400, 'bad-option'],
    ['prefetch', { url: 'http://192.0.2.1/x' }, 403, 'origin-not-allowed'],
    ['prefetch', { url: 'http://127.0.0.1/x', rate: -1 }, 400, 'bad-option'],
    ['pins', { url: 'http://127.0.0.1/x' }, 400, 'bad-option'],
    ['pins', { url: 'http://192.0.2.1/x', seconds: 60 }, 403, 'origin-not-allowed'],
    ['pins', { url: 'http://127.0.0.1/x', seconds: 1e12 }, 400, 'bad-option'],
  ])('POST %s %j is refused', async (path, body, status, code) => {
    const answer = await ask(edge, 'POST', path, body);
    expect(answer).toMatchObject({ status, body: { code } });
    expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/);
  });

  test('what is no JSON, or too large, or unknown, is refused with a problem', async () => {
    const send = (body: string, type = 'application/json') =>
      fetch(`${edge.url}/-/purge`, {
        method: 'POST',
        headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': type },
        body,
      }).then(async (response) => [response.status, (await response.json()).code]);
    expect(await send('{')).toEqual([400, 'bad-option']);
    expect(await send('x', 'text/plain')).toEqual([400, 'bad-option']);
    expect(await send(JSON.stringify({ url: 'x'.repeat(100_000) }))).toEqual([400, 'bad-option']);
    const long = { url: `http://127.0.0.1/${'x'.repeat(9000)}` };
    expect((await ask(edge, 'POST', 'purge', long)).body.code).toBe('bad-option');
    for (const [method, path] of [
      ['GET', 'prefetch/nothing'],
      ['DELETE', 'prefetch/nothing'],
      ['DELETE', 'pins/nothing'],
    ] as const) {
      const answer = await ask(edge, method, path);
      expect(answer).toMatchObject({ status: 404, body: { code: 'no-such-entry' } });
    }
  });
});

describe('prefetching', () => {
  test('makes later requests cost the origin nothing; the result is checked', async () => {
    const { url, digest } = publish();
    const { status, body, headers } = await ask(edge, 'POST', 'prefetch', { url, sha256: digest });
    expect(status).toBe(202);
    expect(headers.get('location')).toBe(`/-/prefetch/${body.id}`);
    expect(await ended(edge, body.id)).toMatchObject({
      state: 'done',
      url,
      totalBytes: BYTES,
      doneBytes: BYTES,
      fetchedBytes: expect.any(Number),
      sha256: digest,
    });
    const cost = await originBytes(async () => {
      expect(await digestThrough(edge, url)).toBe(digest);
      // All of it is there already.
      const again = await ask(edge, 'POST', 'prefetch', { url });
      expect(await ended(edge, again.body.id)).toMatchObject({ state: 'done', fetchedBytes: 0 });
    });
    expect(cost).toBe(0);
  });

  test('a file that is not what it should be, or cannot be kept, is said to have failed', async () => {
    const wrong = '0'.repeat(64);
    const { url } = publish();
    const first = await ask(edge, 'POST', 'prefetch', { url, sha256: wrong });
    expect(await ended(edge, first.body.id)).toMatchObject({
      state: 'failed',
      code: 'checksum-mismatch',
    });
    const second = await ask(edge, 'POST', 'prefetch', {
      url: publish(BYTES, { noRanges: true }).url,
    });
    expect(await ended(edge, second.body.id)).toMatchObject({
      state: 'failed',
      code: 'not-cacheable',
      detail: 'no-ranges',
    });
    const third = await ask(edge, 'POST', 'prefetch', { url: origin.url('/nothing') });
    expect(await ended(edge, third.body.id)).toMatchObject({ code: 'origin-not-found' });
  });

  test('can be stopped; others wait for their turn, and are listed', async () => {
    let release: () => void = () => {};
    const hold = new Promise<void>((resolve) => {
      release = resolve;
    });
    const held = [publish(BYTES, { hold }), publish(BYTES, { hold })];
    const ids: string[] = [];
    for (const { url } of [...held, publish()]) {
      ids.push((await ask(edge, 'POST', 'prefetch', { url })).body.id);
    }
    await until(() => origin.held > 0);
    const states = async () => {
      const { body } = await ask(edge, 'GET', 'prefetch');
      const mine = body.prefetches.filter(({ id }: { id: string }) => ids.includes(id));
      return mine.map(({ state }: { state: string }) => state);
    };
    expect(await states()).toEqual(['running', 'running', 'waiting']);
    expect((await edge.status()).administration.prefetches).toBe(3);
    const stopped = await ask(edge, 'DELETE', `prefetch/${ids[0]}`);
    expect(stopped.body).toMatchObject({ state: 'stopped' });
    // Its place is free for the one that waited.
    expect(await ended(edge, ids[2] as string)).toMatchObject({ state: 'done' });
    expect(await states()).toEqual(['stopped', 'running', 'done']);
    release();
    expect(await ended(edge, ids[1] as string)).toMatchObject({ state: 'done' });
    await ask(edge, 'DELETE', `prefetch/${ids[0]}`);
    expect((await ask(edge, 'GET', `prefetch/${ids[0]}`)).status).toBe(404);
  });

  test('in a network each chunk lands on the node that routing names', async () => {
    network = await Cluster.start({
      nodes: 3,
      options: [...COMMON, '--admin-token-file', tokenFile],
    });
    const nodes = network.nodes.map((node) => node.edge);
    const { url, digest } = publish(2_000_000);
    const cost = await originBytes(async () => {
      const { body } = await ask(nodes[0] as EdgeProcess, 'POST', 'prefetch', { url });
      expect(await ended(nodes[0] as EdgeProcess, body.id)).toMatchObject({ state: 'done' });
    });
    expect(cost).toBe(2_000_000);
    const kept = await Promise.all(nodes.map(async (n) => (await n.status()).cache.memory.chunks));
    expect(Math.min(...kept)).toBeGreaterThan(0);
    const later = await originBytes(async () => {
      for (const node of nodes) expect(await digestThrough(node, url)).toBe(digest);
    });
    expect(later).toBe(0);
  });
});

/** Other files, more than any cache of these tests holds. */
async function pressure(through: EdgeProcess): Promise<void> {
  for (let i = 0; i < 8; i++) await digestThrough(through, publish().url);
}

describe('pins', () => {
  test('what is pinned survives pressure, what is not does not; the lease ends by itself', async () => {
    const [pinned, other] = [publish(), publish()];
    const { status, body } = await ask(edge, 'POST', 'pins', {
      url: pinned.url,
      seconds: 1800,
      prefetch: true,
    });
    expect(status).toBe(201);
    expect(body.pin).toMatchObject({ url: pinned.url, bytes: BYTES, length: BYTES });
    await ended(edge, body.prefetch.id);
    await digestThrough(edge, other.url);
    await pressure(edge);
    const fetchBoth = async () => {
      expect(await digestThrough(edge, pinned.url)).toBe(pinned.digest);
      return originBytes(() => digestThrough(edge, other.url));
    };
    expect(await originBytes(fetchBoth)).toBe(BYTES);
    expect((await edge.status()).administration).toMatchObject({ pins: 1, pinnedBytes: BYTES });

    // Whoever has the capability decides when the lease ends.
    const path = `pins/${body.pin.id}`;
    const extended = await ask(edge, 'PATCH', path, { seconds: 1 }, body.capability);
    expect(extended.body.pin.expiresAt).toBeLessThan(body.pin.expiresAt);
    await until(async () => (await ask(edge, 'GET', 'pins')).body.pins.length === 0);
    expect((await edge.status()).administration).toMatchObject({ pins: 0, pinnedBytes: 0 });
    await pressure(edge);
    expect(await originBytes(() => digestThrough(edge, pinned.url))).toBe(BYTES);
    const after = await ask(edge, 'PATCH', path, { seconds: 60 }, body.capability);
    expect(after.status).toBe(401);
    expect(await ask(edge, 'PATCH', path, { seconds: 60 })).toMatchObject({ status: 404 });
  });

  test('the quota, the longest lease and the file’s length are held', async () => {
    const { url } = publish();
    const first = await ask(edge, 'POST', 'pins', { url, seconds: 60 });
    expect(first.status).toBe(201);
    const refusals = [
      { url: publish().url, seconds: 60 },
      { url: publish(10_000).url, seconds: 7200 },
      { url: publish(10_000).url, seconds: 60, bytes: 9999 },
    ];
    for (const body of refusals) {
      const answer = await ask(edge, 'POST', 'pins', body);
      expect(answer).toMatchObject({ status: 507, body: { code: 'pin-refused' } });
    }
    const { quotaBytes, usedBytes } = (await ask(edge, 'GET', 'pins')).body;
    expect([quotaBytes, usedBytes]).toEqual([400 * KIB, BYTES]);
    expect((await ask(edge, 'DELETE', `pins/${first.body.pin.id}`)).status).toBe(200);
    const again = await ask(edge, 'POST', 'pins', refusals[0]);
    expect(again.status).toBe(201);
    await ask(edge, 'DELETE', `pins/${again.body.pin.id}`);
  });

  test('a capability is good for its own pin and nothing else', async () => {
    const mine = (await ask(edge, 'POST', 'pins', { url: publish(1000).url, seconds: 60 })).body;
    const theirs = (await ask(edge, 'POST', 'pins', { url: publish(1000).url, seconds: 60 })).body;
    const path = `pins/${theirs.pin.id}`;
    expect((await ask(edge, 'PATCH', path, { seconds: 9 }, mine.capability)).status).toBe(401);
    expect((await ask(edge, 'DELETE', path, undefined, mine.capability)).status).toBe(401);
    expect((await ask(edge, 'GET', 'pins', undefined, mine.capability)).status).toBe(401);
    expect((await ask(edge, 'POST', 'purge', { all: true }, mine.capability)).status).toBe(401);
    expect(JSON.stringify((await ask(edge, 'GET', 'pins')).body)).not.toContain(mine.capability);
    expect((await ask(edge, 'DELETE', path, undefined, theirs.capability)).status).toBe(200);
    expect((await ask(edge, 'DELETE', `pins/${mine.pin.id}`)).status).toBe(200);
  });

  test('on disk a pin and what it holds outlive a kill', async () => {
    const dir = join(folder.path, 'pinned-cache');
    const options = ['--cache-dir', dir, '--cache-disk', '1200KiB', '--cache-memory', '0'];
    const first = await start(...options);
    const { url, digest } = publish();
    const pinned = (await ask(first, 'POST', 'pins', { url, seconds: 3600, prefetch: true })).body;
    await ended(first, pinned.prefetch.id);
    const records = Math.ceil(BYTES / 65_536) + 1;
    await until(async () => (await first.status()).cache.disk?.records === records);
    await first.stop('SIGKILL');
    const again = await start(...options);
    const { pins } = (await ask(again, 'GET', 'pins')).body;
    expect(pins).toEqual([pinned.pin]);
    await pressure(again);
    // Written behind the clients' backs: more than there is room for.
    await until(async () => ((await again.status()).cache.disk?.bytes ?? 0) > 1_000_000);
    expect(await originBytes(() => digestThrough(again, url))).toBe(0);
    expect(await digestThrough(again, url)).toBe(digest);
    const path = `pins/${pinned.pin.id}`;
    expect((await ask(again, 'DELETE', path, undefined, pinned.capability)).status).toBe(200);
    await pressure(again);
    expect(await originBytes(() => digestThrough(again, url))).toBe(BYTES);
  });

  test('in a network, all nodes pin where that is asked for, and release together', async () => {
    network = await Cluster.start({
      nodes: 3,
      options: [...COMMON, '--admin-token-file', tokenFile, '--cache-memory', '900KiB'],
    });
    const nodes = network.nodes.map((node) => node.edge);
    const [first] = nodes as [EdgeProcess];
    const { url, digest } = publish();
    const asked = { url, seconds: 60, network: true, prefetch: true };
    const { body } = await ask(first, 'POST', 'pins', asked);
    expect(body.nodes).toHaveLength(2);
    await ended(first, body.prefetch.id);
    for (const node of nodes) await pressure(node);
    const cost = await originBytes(async () => {
      for (const node of nodes) expect(await digestThrough(node, url)).toBe(digest);
    });
    expect(cost).toBe(0);
    const path = `pins/${body.pin.id}?network=true`;
    expect(
      (await ask(nodes[1] as EdgeProcess, 'DELETE', path, undefined, body.capability)).status,
    ).toBe(200);
    for (const node of nodes) {
      expect((await ask(node, 'GET', 'pins')).body).toMatchObject({ usedBytes: 0, pins: [] });
    }
  });
});

describe('several processes', () => {
  test('all of them purge, pin, and know of each other’s prefetches; so does one that died', async () => {
    const several = await start('--workers', '3');
    await until(async () => {
      const { workers = [] } = await several.status();
      return workers.every(({ peers }) => peers === 2);
    });
    const { url, path, digest } = publish();
    const sixTimes = async () => {
      const digests: string[] = [];
      // Each connection comes to the next of them.
      for (let i = 0; i < 6; i++) digests.push(await digestThrough(several, url));
      return [...new Set(digests)];
    };
    expect(await sixTimes()).toEqual([digest]);
    const body = contentOf('another', BYTES);
    origin.add(path, { ...FRESH, body });
    expect((await ask(several, 'POST', 'purge', { url })).status).toBe(200);
    expect(await sixTimes()).toEqual([sha256(body)]);

    const pinned = (await ask(several, 'POST', 'pins', { url, seconds: 600 })).body;
    const { id } = (await ask(several, 'POST', 'prefetch', { url })).body;
    const seen = async () => {
      for (let i = 0; i < 6; i++) {
        const { pins } = (await ask(several, 'GET', 'pins')).body;
        if (pins[0]?.id !== pinned.pin.id) return false;
        expect((await ask(several, 'GET', `prefetch/${id}`)).status).toBe(200);
      }
      return true;
    };
    expect(await seen()).toBe(true);
    expect((await several.status()).administration).toMatchObject({ purges: 1, pins: 1 });

    const { pid } = several.child;
    const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
    const [victim = ''] = children.trim().split(' ').slice(-1);
    process.kill(Number(victim), 'SIGKILL');
    await until(async () => {
      // A connection that was kept may be to the one that has died.
      const { workers = [] } = await several.status().catch(() => ({ workers: [] }));
      return workers.length === 3 && workers.every(({ peers }) => peers === 2);
    });
    const { pins } = (await ask(several, 'GET', 'pins')).body;
    expect(pins).toHaveLength(1);
    await until(async () => {
      const views = await Promise.all(Array.from({ length: 6 }, () => ask(several, 'GET', 'pins')));
      return views.every((view) => view.body.pins.length === 1);
    });
    expect((await ask(several, 'DELETE', `pins/${pinned.pin.id}`)).status).toBe(200);
  });
});

describe('millrace edge', () => {
  const cli = (...args: string[]) =>
    runCli(['edge', ...args, '--edge', edge.url, '--token-file', tokenFile]);

  test('purges, prefetches, pins, extends, releases and drains', async () => {
    const { url, path } = publish();
    expect(await cli('prefetch', url)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/done 293 KiB of 293 KiB \(100%\)\n$/),
    });
    expect(await originBytes(() => digestThrough(edge, url))).toBe(0);
    const body = contentOf('by hand', BYTES);
    origin.add(path, { ...FRESH, body });
    expect(await cli('purge', url)).toMatchObject({ code: 0, stdout: `Purged ${url}\n` });
    expect(await digestThrough(edge, url)).toBe(sha256(body));

    const pinned = await cli('pin', url, '--for', '10m', '--json');
    expect(pinned.code).toBe(0);
    const { pin, capability } = JSON.parse(pinned.stdout);
    expect((await cli('pins')).stdout).toContain(`${pin.id}  ${url}`);
    const capabilityFile = join(folder.path, 'capability');
    await writeFile(capabilityFile, `${capability}\n`);
    const holder = (...args: string[]) =>
      runCli(['edge', ...args, '--edge', edge.url, '--token-file', capabilityFile]);
    expect(await holder('extend', pin.id, '--for', '20m')).toMatchObject({ code: 0 });
    expect(await holder('pins')).toMatchObject({ code: 4 });
    expect(await holder('unpin', pin.id)).toMatchObject({ code: 0, stdout: `Released ${url}\n` });
    expect((await cli('pins')).stdout).toContain('Nothing is pinned.');

    expect((await cli('drain')).stdout).toBe(`${edge.url} drains.\n`);
    expect((await cli('status')).stdout).toContain(', draining\n');
    expect((await cli('drain', '--undo')).stdout).toBe(`${edge.url} takes clients again.\n`);
    expect((await fetchAll(edge.prefixed(url))).status).toBe(200);
  });

  test('says what is wrong, with an exit status', async () => {
    const env = { MILLRACE_EDGE: edge.url, MILLRACE_EDGE_TOKEN: 'wrong' };
    const wrong = await runCli(['edge', 'purge', '--all'], env);
    expect(wrong).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('administration token'),
    });
    const right = { ...env, MILLRACE_EDGE_TOKEN: ADMIN_TOKEN };
    expect(await runCli(['edge', 'purge', '--all', '--json'], right)).toMatchObject({ code: 0 });
    const nobody = await runCli(['edge', 'status', '--edge', 'http://127.0.0.1:1', '--json']);
    expect(nobody.code).toBe(3);
    expect(JSON.parse(nobody.stdout)).toMatchObject({ event: 'error', code: 'origin-unreachable' });
    expect(await cli('purge', 'nonsense')).toMatchObject({ code: 2 });
    expect(await cli('purge')).toMatchObject({ code: 2 });
    expect(await cli('pin', publish().url, '--for', '2h')).toMatchObject({ code: 4 });
    // The variable is the command line's: an edge that is started beside it does not mind.
    const beside = await EdgeProcess.start(COMMON, { MILLRACE_EDGE_TOKEN: ADMIN_TOKEN });
    expect(await beside.stop()).toBe(0);
  });
});
