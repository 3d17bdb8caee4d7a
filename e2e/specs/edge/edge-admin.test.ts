/** Prefetching, administration of several processes, and the commands of `millrace edge`. */

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { fetchAll } from '../../fixtures/clients/http-client.ts';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import type { ServedFile } from '../../fixtures/origins/file-server.ts';
import { freePorts } from '../../fixtures/origins/nginx.ts';
import { ADMIN_TOKEN, ask, digestThrough, ended } from '../../fixtures/programs/admin-client.ts';
import { racesOf } from '../../fixtures/programs/cluster.ts';
import { EdgeProcess, runCli } from '../../fixtures/programs/processes.ts';
import { AdminStage, FRESH } from '../../fixtures/stages/admin-stage.ts';
import { until } from '../../fixtures/until.ts';

const BYTES = 300_000;
const CHUNK = 65_536;

const stage = await AdminStage.set(
  ...['--pin-quota', '400KiB', '--cache-memory', '800KiB', '--pin-max', '1h'],
);
const { edge, origin, folder, tokenFile } = stage;

describe('the administration interface', () => {
  test.each([
    ['POST', 'purge'],
    ['POST', 'prefetch'],
    ['GET', 'prefetch'],
    ['DELETE', 'prefetch/x'],
    ['POST', 'pins'],
    ['GET', 'pins'],
    ['PATCH', 'pins/x'],
    ['DELETE', 'pins/x'],
  ])('%s %s needs the token', async (method, path) => {
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

  test('invalid JSON, too large a body and an unknown entry are refused with a problem', async () => {
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
  test('checks the file, and later requests cost the origin nothing', async () => {
    const { url, digest } = stage.publish(BYTES);
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
    const cost = await stage.originBytes(async () => {
      expect(await digestThrough(edge, url)).toBe(digest);
      // The whole file is there already.
      const again = await ask(edge, 'POST', 'prefetch', { url });
      expect(await ended(edge, again.body.id)).toMatchObject({ state: 'done', fetchedBytes: 0 });
    });
    expect(cost).toBe(0);
  });

  test('fails for a file that has another digest, cannot be kept, or is not there', async () => {
    const wrong = '0'.repeat(64);
    const { url } = stage.publish(BYTES);
    const first = await ask(edge, 'POST', 'prefetch', { url, sha256: wrong });
    expect(await ended(edge, first.body.id)).toMatchObject({
      state: 'failed',
      code: 'checksum-mismatch',
    });
    const second = await ask(edge, 'POST', 'prefetch', {
      url: stage.publish(BYTES, { noRanges: true }).url,
    });
    expect(await ended(edge, second.body.id)).toMatchObject({
      state: 'failed',
      code: 'not-cacheable',
      detail: 'no-ranges',
    });
    const third = await ask(edge, 'POST', 'prefetch', { url: origin.url('/nothing') });
    expect(await ended(edge, third.body.id)).toMatchObject({ code: 'origin-not-found' });
  });

  test('can be stopped; other prefetches wait for their turn, and are listed', async () => {
    let release: () => void = () => {};
    const hold = new Promise<void>((resolve) => {
      release = resolve;
    });
    const held = [stage.publish(BYTES, { hold }), stage.publish(BYTES, { hold })];
    const ids: string[] = [];
    for (const { url } of [...held, stage.publish(BYTES)]) {
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
    // The stopped prefetch frees its place for the waiting one.
    expect(await ended(edge, ids[2] as string)).toMatchObject({ state: 'done' });
    expect(await states()).toEqual(['stopped', 'running', 'done']);
    release();
    expect(await ended(edge, ids[1] as string)).toMatchObject({ state: 'done' });
    await ask(edge, 'DELETE', `prefetch/${ids[0]}`);
    expect((await ask(edge, 'GET', `prefetch/${ids[0]}`)).status).toBe(404);
  });

  test.each(['SIGTERM', 'SIGKILL'] as const)(
    'with a disk tier it continues after a restart by %s, and fetches nothing twice',
    async (signal) => {
      const disk = ['--cache-dir', join(folder, `prefetched-${signal}`), '--grace', '0s'];
      const first = await stage.start(...disk);
      // However late the end comes, the prefetch is not done by then.
      const never = new Promise<void>(() => {});
      const { url, path, digest } = stage.publish(2_000_000, { hold: never, freely: 12 });
      const order = { url, sha256: digest, rate: 400_000 };
      const { body } = await ask(first, 'POST', 'prefetch', order);
      const waiting = (await ask(first, 'POST', 'prefetch', { url: stage.publish(BYTES).url }))
        .body;
      expect(body).toMatchObject({ outlivesRestart: true });
      await ended(first, waiting.id);
      await until(async () => ((await first.status()).cache.disk?.records ?? 0) > 12);
      await first.stop(signal);
      const { hold: _, ...file } = origin.files.get(path) as ServedFile;
      origin.add(path, file);
      const fast = await stage.start(...disk);
      // A finished prefetch does not start again, unless the kill came before its end was written
      // down.
      const ids = (await ask(fast, 'GET', 'prefetch')).body.prefetches.map(
        ({ id }: { id: string }) => id,
      );
      if (signal === 'SIGTERM') expect(ids).toEqual([body.id]);
      expect(ids).toContain(body.id);
      const state = await ended(fast, body.id);
      expect(state).toMatchObject({ state: 'done', sha256: digest, doneBytes: 2_000_000 });
      expect(state.askedAt).toBe(body.askedAt);
      expect(state.fetchedBytes).toBeLessThan(2_000_000 - 5 * 65_536);
    },
  );

  test('without a disk tier it is reported to end with a restart', async () => {
    const { body } = await ask(edge, 'POST', 'prefetch', { url: stage.publish(BYTES).url });
    expect(await ended(edge, body.id)).toMatchObject({ outlivesRestart: false });
  });

  test('in a network each chunk lands on the node that routing names', async () => {
    const network = await stage.network(3);
    const nodes = network.nodes.map((node) => node.edge);
    const { url, digest } = stage.publish(2_000_000);
    const cost = await stage.originBytes(async () => {
      const { body } = await ask(nodes[0] as EdgeProcess, 'POST', 'prefetch', { url });
      expect(await ended(nodes[0] as EdgeProcess, body.id)).toMatchObject({ state: 'done' });
    });
    const raced = () => racesOf(nodes);
    expect(cost).toBeGreaterThanOrEqual(2_000_000);
    expect(cost).toBeLessThanOrEqual(2_000_000 + (await raced()) * CHUNK);
    const before = await raced();
    const kept = await Promise.all(nodes.map(async (n) => (await n.status()).cache.memory.chunks));
    expect(Math.min(...kept)).toBeGreaterThan(0);
    const later = await stage.originBytes(async () => {
      for (const node of nodes) expect(await digestThrough(node, url)).toBe(digest);
    });
    expect(later).toBeLessThanOrEqual(((await raced()) - before) * CHUNK);
  });
});

describe('several processes', () => {
  test('all of them purge, pin and know prefetches, and so does the successor of a dead one', async () => {
    const several = await stage.start('--workers', '3');
    await until(async () => {
      const { workers = [] } = await several.status();
      return workers.length === 3 && workers.every(({ peers }) => peers === 2);
    });
    const { url, path, digest } = stage.publish(BYTES);
    const sixTimes = async () => {
      const digests: string[] = [];
      // Each connection goes to the next process.
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
      // A kept connection may lead to the process that has died.
      const { workers = [] } = await several.status().catch(() => ({ workers: [] }));
      return workers.length === 3 && workers.every(({ peers }) => peers === 2);
    });
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
    const { url, path } = stage.publish(BYTES);
    expect(await cli('prefetch', url)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/done 293 KiB of 293 KiB \(100%\)\n$/),
    });
    expect(await stage.originBytes(() => digestThrough(edge, url))).toBe(0);
    const body = contentOf('by hand', BYTES);
    origin.add(path, { ...FRESH, body });
    expect(await cli('purge', url)).toMatchObject({ code: 0, stdout: `Purged ${url}\n` });
    expect(await digestThrough(edge, url)).toBe(sha256(body));

    const pinned = await cli('pin', url, '--for', '10m', '--json');
    expect(pinned.code).toBe(0);
    const { pin, capability } = JSON.parse(pinned.stdout);
    expect((await cli('pins')).stdout).toContain(`${pin.id}\t${url}`);
    const capabilityFile = join(folder, 'capability');
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

  test('waits for a prefetch across a restart of the edge', async () => {
    const port = String(await freePorts());
    const disk = ['--cache-dir', join(folder, 'waited-for'), '--port', port];
    const first = await stage.start(...disk);
    const { url } = stage.publish(2_000_000);
    const args = ['edge', 'prefetch', url, '--rate', '400KB', '--edge', first.url];
    const waiting = runCli([...args, '--token-file', tokenFile]);
    await until(async () => ((await first.status()).cache.disk?.records ?? 0) > 10);
    await first.stop('SIGKILL');
    await stage.start(...disk);
    expect(await waiting).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/done 1\.91 MiB of 1\.91 MiB \(100%\)\n$/),
    });
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
    expect(await cli('pin', stage.publish(BYTES).url, '--for', '2h')).toMatchObject({ code: 4 });
    // The variable belongs to the command line: an edge that starts with it ignores it.
    const beside = await EdgeProcess.start(['--allow-origin', '127.0.0.1'], {
      MILLRACE_EDGE_TOKEN: ADMIN_TOKEN,
    });
    expect(await beside.stop()).toBe(0);
  });
});
