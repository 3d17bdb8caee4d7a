import { describe, expect, test } from '@jest/globals';
import { seededRandom } from '@millrace/shared/base/clock';
import { FakeOrigin } from '../../testing/fake-origin.ts';
import { offerOf, turn, World } from '../../testing/fake-surroundings.ts';
import { MAX_CONNECTIONS, MAX_PER_HOST } from '../sources/host-slots.ts';

const LENGTH = 2 * 1024 * 1024;
const HOST = 'http://origin.example';
const FILE = new Uint8Array(LENGTH).map((_, i) => i >> 7);
/** Longest answer, bytes, that counts as a proof; servers send proofs at once. */
const PROOF_BYTES = 64 * 1024;

/**
 * Returns a network with servers that send everything at once, send nothing after the proof, or
 * cannot be reached.
 */
function world() {
  const origin = new FakeOrigin(FILE);
  const active = new Map<string, number>();
  let most = 0;
  let mostAtHost = 0;
  const fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const { host, pathname } = new URL(url);
    if (host.startsWith('dead')) throw new TypeError('Failed to fetch');
    const right = await origin.fetch(url, init);
    const { range } = origin.asked.at(-1) as (typeof origin.asked)[number];
    if (!pathname.startsWith('/slow') || range.end - range.start <= PROOF_BYTES) return right;
    active.set(host, (active.get(host) ?? 0) + 1);
    mostAtHost = Math.max(mostAtHost, active.get(host) ?? 0);
    most = Math.max(
      most,
      [...active.values()].reduce((sum, count) => sum + count, 0),
    );
    const body = new ReadableStream({
      type: 'bytes',
      start: (controller) => {
        init.signal?.addEventListener('abort', () => {
          active.set(host, (active.get(host) ?? 0) - 1);
          controller.error(init.signal?.reason);
        });
      },
    });
    return new Response(body, { status: 206, headers: right.headers });
  };
  const it = new World(fetch, seededRandom(1));
  return { it, origin, active, most: () => most, mostAtHost: () => mostAtHost };
}

const link = (url: string) => ({ url, headers: {}, edges: [] });

async function take(engine: Awaited<ReturnType<World['start']>>, url: string): Promise<void> {
  await engine.call(offerOf(url, LENGTH));
  await engine.call({ type: 'commit', handOff: url });
}

/** Waits until the engine has requested a number of parts from a server that sends nothing. */
async function untilActive(active: Map<string, number>, host: string, count: number) {
  for (let turns = 0; (active.get(host) ?? 0) !== count; turns++) {
    if (turns > 5000) throw new Error(`${active.get(host)} connections, not ${count}`);
    await turn();
  }
}

describe('downloads of one host', () => {
  test('a new download gets connections of a running one that holds all of them', async () => {
    const { it, active } = world();
    const engine = await it.start();
    await take(engine, `${HOST}/slow-1`);
    await untilActive(active, 'origin.example', MAX_PER_HOST);
    await take(engine, `${HOST}/second`);
    const isDone = (id: string) => it.records.records.get(id)?.state === 'saving';
    await it.until(engine, () => isDone(`${HOST}/second`));
    // The first download gets its connections back.
    await untilActive(active, 'origin.example', MAX_PER_HOST);
    expect(isDone(`${HOST}/slow-1`)).toBe(false);
  });

  test('ten small downloads behind a slow one all end', async () => {
    const { it, mostAtHost } = world();
    const engine = await it.start();
    await take(engine, `${HOST}/slow-1`);
    const urls = Array.from({ length: 10 }, (_, i) => `${HOST}/small-${i}`);
    await engine.call({ type: 'add', links: urls.map(link) });
    await it.until(
      engine,
      (records) => records.filter(({ state }) => state === 'saving').length === urls.length,
    );
    expect(mostAtHost()).toBeLessThanOrEqual(MAX_PER_HOST);
  });

  test('an offer beyond the connections of its host is refused without a request', async () => {
    const { it, origin, active, mostAtHost } = world();
    const engine = await it.start();
    for (let i = 0; i < MAX_PER_HOST; i++) await take(engine, `${HOST}/slow-${i}`);
    await untilActive(active, 'origin.example', MAX_PER_HOST);
    const before = origin.asked.length;
    await expect(engine.call(offerOf(`${HOST}/more`, LENGTH))).rejects.toMatchObject({
      problem: 'refused',
      code: 'queue-full',
    });
    expect(origin.asked).toHaveLength(before);
    expect(mostAtHost()).toBe(MAX_PER_HOST);
    // Other hosts have their own connections.
    await take(engine, 'http://other.example/file');
    await it.until(
      engine,
      () => it.records.records.get('http://other.example/file')?.state === 'saving',
    );
    // A paused download holds no connections.
    await engine.call({ type: 'command', id: `${HOST}/slow-1`, command: 'pause' });
    await take(engine, `${HOST}/more`);
    await it.until(engine, () => it.records.records.get(`${HOST}/more`)?.state === 'saving');
  });
});

describe('downloads of many hosts', () => {
  test('stay within the limit of connections, and each gets some', async () => {
    const { it, active, most } = world();
    const engine = await it.start();
    const hosts = Array.from({ length: 8 }, (_, i) => `host-${i}.example`);
    for (const host of hosts) await take(engine, `http://${host}/slow`);
    for (const host of hosts) await untilActive(active, host, MAX_CONNECTIONS / hosts.length);
    expect(most()).toBeLessThanOrEqual(MAX_CONNECTIONS);
  });

  test('one that waits for its server does not keep others from starting', async () => {
    const { it } = world();
    const engine = await it.start();
    const dead = Array.from({ length: 40 }, (_, i) => link(`http://dead-${i % 20}.example/${i}`));
    await engine.call({ type: 'add', links: dead });
    it.now++;
    const [id] = (
      (await engine.call({ type: 'add', links: [link(`${HOST}/good`)] })) as {
        ids: readonly string[];
      }
    ).ids;
    await it.until(engine, () => it.records.records.get(id as string)?.state === 'saving');
  });
});
