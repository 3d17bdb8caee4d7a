/** Pins: files that stay in the caches until their lease ends, within the quota. */

import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { ask, digestThrough, ended } from '../../fixtures/programs/admin-client.ts';
import { racesOf } from '../../fixtures/programs/cluster.ts';
import type { EdgeProcess } from '../../fixtures/programs/processes.ts';
import { AdminStage } from '../../fixtures/stages/admin-stage.ts';
import { until } from '../../fixtures/until.ts';

const BYTES = 300_000;
const KIB = 1024;
const CHUNK = 64 * KIB;

const stage = await AdminStage.set(
  ...['--pin-quota', '400KiB', '--cache-memory', '800KiB', '--pin-max', '1h'],
);
const { edge, folder } = stage;

/**
 * Fetches other files, more than any cache of these tests holds.
 *
 * @param times number of requests for each: files that are requested again push out those that were
 */
async function pressure(through: EdgeProcess, times = 1): Promise<void> {
  for (let i = 0; i < 8; i++) {
    const { url } = stage.publish(BYTES);
    for (let time = 0; time < times; time++) await digestThrough(through, url);
  }
}

/** Returns the bytes that have left an edge's disk tier for newer ones. */
async function evictedBytes(from: EdgeProcess): Promise<number> {
  const metrics = await (await fetch(`${from.url}/-/metrics`)).text();
  return Number(/^millrace_disk_cache_evicted_bytes (\d+)$/m.exec(metrics)?.[1]);
}

/** Fetches other files until so many more bytes have left the disk tier: it is filled later. */
async function pressureOnDisk(through: EdgeProcess, bytes: number): Promise<void> {
  const before = await evictedBytes(through);
  await until(async () => {
    await pressure(through);
    return (await evictedBytes(through)) >= before + bytes;
  });
}

describe('pins', () => {
  test('a pinned file survives pressure, another does not; the lease ends by itself', async () => {
    const [pinned, other] = [stage.publish(BYTES), stage.publish(BYTES)];
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
      return stage.originBytes(() => digestThrough(edge, other.url));
    };
    expect(await stage.originBytes(fetchBoth)).toBe(BYTES);
    expect((await edge.status()).administration).toMatchObject({ pins: 1, pinnedBytes: BYTES });

    // The holder of the capability decides when the lease ends.
    const path = `pins/${body.pin.id}`;
    const extended = await ask(edge, 'PATCH', path, { seconds: 1 }, body.capability);
    expect(extended.body.pin.expiresAt).toBeLessThan(body.pin.expiresAt);
    await until(async () => (await ask(edge, 'GET', 'pins')).body.pins.length === 0);
    expect((await edge.status()).administration).toMatchObject({ pins: 0, pinnedBytes: 0 });
    await pressure(edge);
    expect(await stage.originBytes(() => digestThrough(edge, pinned.url))).toBe(BYTES);
    const after = await ask(edge, 'PATCH', path, { seconds: 900 }, body.capability);
    expect(after.status).toBe(401);
    expect(await ask(edge, 'PATCH', path, { seconds: 900 })).toMatchObject({ status: 404 });
  });

  test('the quota, the longest lease and the file’s length are enforced', async () => {
    const { url } = stage.publish(BYTES);
    const first = await ask(edge, 'POST', 'pins', { url, seconds: 900 });
    expect(first.status).toBe(201);
    const refusals = [
      { url: stage.publish(BYTES).url, seconds: 900 },
      { url: stage.publish(10_000).url, seconds: 7200 },
      { url: stage.publish(10_000).url, seconds: 900, bytes: 9999 },
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

  test('a capability is valid for its own pin and nothing else', async () => {
    const mine = (await ask(edge, 'POST', 'pins', { url: stage.publish(1000).url, seconds: 900 }))
      .body;
    const theirs = (await ask(edge, 'POST', 'pins', { url: stage.publish(1000).url, seconds: 900 }))
      .body;
    const path = `pins/${theirs.pin.id}`;
    expect((await ask(edge, 'PATCH', path, { seconds: 9 }, mine.capability)).status).toBe(401);
    expect((await ask(edge, 'DELETE', path, undefined, mine.capability)).status).toBe(401);
    expect((await ask(edge, 'GET', 'pins', undefined, mine.capability)).status).toBe(401);
    expect((await ask(edge, 'POST', 'purge', { all: true }, mine.capability)).status).toBe(401);
    expect(JSON.stringify((await ask(edge, 'GET', 'pins')).body)).not.toContain(mine.capability);
    expect((await ask(edge, 'DELETE', path, undefined, theirs.capability)).status).toBe(200);
    expect((await ask(edge, 'DELETE', `pins/${mine.pin.id}`)).status).toBe(200);
  });

  test('on disk, a pin and its file survive a kill', async () => {
    const dir = join(folder, 'pinned-cache');
    const options = ['--cache-dir', dir, '--cache-disk', '1200KiB', '--cache-memory', '0'];
    const first = await stage.start(...options);
    const { url, digest } = stage.publish(BYTES);
    const pinned = (await ask(first, 'POST', 'pins', { url, seconds: 3600, prefetch: true })).body;
    await ended(first, pinned.prefetch.id);
    const records = Math.ceil(BYTES / 65_536) + 1;
    await until(async () => (await first.status()).cache.disk?.records === records);
    await first.stop('SIGKILL');
    const again = await stage.start(...options);
    const { pins } = (await ask(again, 'GET', 'pins')).body;
    expect(pins).toEqual([pinned.pin]);
    await pressureOnDisk(again, 1);
    await pressure(again, 2);
    expect(await stage.originBytes(() => digestThrough(again, url))).toBe(0);
    expect(await digestThrough(again, url)).toBe(digest);
    const path = `pins/${pinned.pin.id}`;
    expect((await ask(again, 'DELETE', path, undefined, pinned.capability)).status).toBe(200);
    // If the kill came before the end of the prefetch was written down, it has been continued, and
    // its chunks count as requested.
    await until(async () => {
      await pressure(again, 2);
      const cost = await stage.originBytes(async () => {
        expect(await digestThrough(again, url)).toBe(digest);
      });
      return cost === BYTES;
    });
  });

  test('in a network, all nodes pin when asked to, and release together', async () => {
    const network = await stage.network(3, ['--cache-memory', '900KiB']);
    const nodes = network.nodes.map((node) => node.edge);
    const [first] = nodes as [EdgeProcess];
    const { url, digest } = stage.publish(BYTES);
    const asked = { url, seconds: 3600, network: true, prefetch: true };
    const { body } = await ask(first, 'POST', 'pins', asked);
    expect(body.nodes).toHaveLength(2);
    await ended(first, body.prefetch.id);
    for (const node of nodes) await pressure(node);
    const before = await racesOf(nodes);
    const cost = await stage.originBytes(async () => {
      for (const node of nodes) expect(await digestThrough(node, url)).toBe(digest);
    });
    const races = (await racesOf(nodes)) - before;
    expect(cost).toBeLessThanOrEqual(races * CHUNK);
    const path = `pins/${body.pin.id}?network=true`;
    expect(
      (await ask(nodes[1] as EdgeProcess, 'DELETE', path, undefined, body.capability)).status,
    ).toBe(200);
    for (const node of nodes) {
      expect((await ask(node, 'GET', 'pins')).body).toMatchObject({ usedBytes: 0, pins: [] });
    }
  });

  test('a node that was away learns of pins and of releases when it comes back', async () => {
    const cluster = await stage.network(3, ['--cache-memory', '900KiB']);
    const [first] = cluster.nodes.map((node) => node.edge) as [EdgeProcess];
    const idsAt = async (node: EdgeProcess) => {
      const { pins } = (await ask(node, 'GET', 'pins')).body;
      return pins.map(({ id }: { id: string }) => id).sort();
    };
    const pin = async (bytes: number) =>
      (
        await ask(first, 'POST', 'pins', {
          url: stage.publish(bytes).url,
          seconds: 1800,
          network: true,
        })
      ).body;
    const early = await pin(1000);
    const away = cluster.node(2);
    await away.edge.stop('SIGKILL');
    const late = await pin(2000);
    const back = await cluster.add(away);
    await until(async () => (await idsAt(back.edge)).length === 2);
    const { pins } = (await ask(back.edge, 'GET', 'pins')).body;
    expect(pins).toContainEqual(late.pin);
    expect(pins).toContainEqual({ ...early.pin, network: true, held: true });
    expect((await back.edge.status()).administration).toMatchObject({ pins: 2 });

    // The returned node knows the capability, and a release there is a release everywhere.
    const path = `pins/${late.pin.id}`;
    const released = await ask(back.edge, 'DELETE', path, undefined, late.capability);
    expect(released).toMatchObject({ status: 200, body: { nodes: [{ ok: true }, { ok: true }] } });
    for (const node of [first, back.edge]) expect(await idsAt(node)).toEqual([early.pin.id]);

    await back.edge.stop('SIGKILL');
    expect((await ask(first, 'DELETE', `pins/${early.pin.id}`)).status).toBe(200);
    const again = await cluster.add(back);
    await cluster.ready();
    expect(await idsAt(again.edge)).toEqual([]);
  });
});
