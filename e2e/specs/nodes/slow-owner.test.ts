/** Owners of chunks that are alive but slow: what the agents of other nodes do about them. */

import { expect } from '@jest/globals';
import { SLOW_PAUSE_MS } from '@millrace/shared/cdn/fetch/peer-speeds';
import { hashText, rank } from '@millrace/shared/cdn/routing/hrw';
import { fetchAll } from '../../fixtures/clients/http-client.ts';
import { sha256 } from '../../fixtures/origins/content.ts';
import { nginxOrComplain } from '../../fixtures/origins/nginx.ts';
import { NginxFiles, type OriginFile } from '../../fixtures/origins/nginx-files.ts';
import { Cluster } from '../../fixtures/programs/cluster.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';
import { until } from '../../fixtures/until.ts';

const CHUNK = 256 * 1024;
const CHUNKS = 96;
const OPTIONS = [
  ...['--allow-origin', '127.0.0.1', '--chunk-size', '256KiB'],
  ...['--cache-memory', '64MiB', '--log-level', 'warn'],
];
/** Window that a response begins with, in chunks of this size. */
const FIRST_WINDOW = 4;

const { afterAll, afterEach, beforeAll, describe, test } = testsWhere(
  nginxOrComplain('slow owners in networks of edges'),
);
let files: NginxFiles;
let cluster: Cluster | undefined;

beforeAll(async () => {
  files = await NginxFiles.start();
});

afterEach(async () => {
  await cluster?.stop();
  cluster = undefined;
});

afterAll(async () => {
  await files?.stop();
});

/** Names of the nodes responsible for a chunk, best first, in a network of `nodes`. */
function responsible(file: OriginFile, chunk: number, nodes: number, salt = ''): string[] {
  const all = Array.from({ length: nodes }, (_, i) => `node-${i}`);
  const ranked = all.map((name) => ({ name, seed: hashText(name), weight: 1 }));
  return rank(`${file.url},start=${chunk * CHUNK}${salt}`, ranked, nodes).map(({ name }) => name);
}

const indexes = Array.from({ length: CHUNKS }, (_, i) => i);
const rangeOf = (chunk: number) => `${chunk * CHUNK}-${(chunk + 1) * CHUNK - 1}`;

describe('a slow owner', () => {
  test('shrinks the window of a response that asks others for its chunks; it grows again afterwards', async () => {
    cluster = await Cluster.start({ nodes: 2, options: OPTIONS, proxies: true });
    const [asking, owner] = [cluster.node(0), cluster.node(1)];
    const file = await files.make(CHUNKS * CHUNK);
    const ownedBy = (name: string) => indexes.filter((i) => responsible(file, i, 2)[0] === name);
    const slow = ownedBy(owner.name).slice(0, FIRST_WINDOW);
    const fast = ownedBy(asking.name).filter((i) => i > (slow.at(-1) as number));
    // One response: first chunks of the slow owner, then more chunks than the window ever had.
    const chunks = [...slow, ...fast.slice(0, 4 * FIRST_WINDOW)];
    // The version is known before the owner becomes slow, and its connection is open.
    const warm = await fetchAll(asking.edge.prefixed(file.url), {
      headers: { range: 'bytes=0-0' },
    });
    expect(warm.status).toBe(206);
    const before = await asking.edge.status();
    if (owner.proxy !== undefined) owner.proxy.chunkRate = 2048;
    const range = `bytes=${chunks.map(rangeOf).join(', ')}`;
    const response = await fetchAll(asking.edge.prefixed(file.url), { headers: { range } });
    expect([response.status, response.complete]).toEqual([206, true]);
    const { races, window, fetches } = await asking.edge.status();
    // On a slow machine, requests to the origin may be late as well.
    expect(races.retry - before.races.retry).toBeGreaterThanOrEqual(slow.length);
    const again = (status: typeof before.fetches) => status['1']?.again ?? 0;
    expect(again(fetches) - again(before.fetches)).toBeGreaterThanOrEqual(slow.length);
    const seen = (le: string) => Number(window.sizes[le]) - Number(before.window.sizes[le]);
    // Down to one chunk, from four; then up to more than the response began with.
    expect(seen('1')).toBeGreaterThan(0);
    expect(seen('8')).toBeGreaterThan(0);
  });

  /**
   * A chunk whose best node by the salted name is not among the three best by the plain one, and a
   * node that is not among all these; `node` finds a node by name.
   */
  function scene(file: OriginFile, nodes: number) {
    const cases = indexes.flatMap((chunk) => {
      const [owner, second, third, ...others] = responsible(file, chunk, nodes);
      const salted = responsible(file, chunk, nodes, 'a')[0];
      const asking = others.find((name) => name !== salted);
      const fits = salted !== undefined && others.includes(salted) && asking !== undefined;
      return fits ? [{ chunk, owner, second, third, salted, asking }] : [];
    });
    const [chosen] = cases;
    if (chosen === undefined) throw new Error('no chunk fits');
    const node = (name: string | undefined) => {
      const found = cluster?.nodes.find((candidate) => candidate.name === name);
      if (found === undefined) throw new Error(`no node ${name}`);
      return found;
    };
    const hang = (names: (string | undefined)[]) => {
      for (const { proxy } of names.map(node)) if (proxy !== undefined) proxy.chunkRate = 0;
    };
    const ask = async (name: string | undefined, chunk: number) => {
      const headers = { range: `bytes=${rangeOf(chunk)}` };
      const answer = await fetchAll(node(name).edge.prefixed(file.url), { headers });
      expect([answer.status, answer.complete]).toEqual([206, true]);
      const content = file.content.subarray(chunk * CHUNK, (chunk + 1) * CHUNK);
      expect(answer.digest).toBe(sha256(content));
    };
    return { ...chosen, node, hang, ask };
  }

  test('the third request for a chunk is served by the best node of its salted name, which waits for no slow one', async () => {
    const nodes = 5;
    cluster = await Cluster.start({ nodes, options: OPTIONS, proxies: true });
    const file = await files.make(CHUNKS * CHUNK);
    const { chunk, owner, second, third, asking, node, hang, ask, ...names } = scene(file, nodes);
    const salted = node(names.salted);
    // The version is known before the owner becomes slow.
    await ask(asking, (chunk + 1) % CHUNKS);
    const before = await salted.edge.status();
    // The first request goes to the owner, the second to the next best, and both hang. The salted
    // node asks the third best, which hangs as well, whether that has the chunk; a node that
    // dropped the salt would wait for it for as long as for any other.
    hang([owner, second, third]);
    await ask(asking, chunk);
    // On a slow machine, two requests to the origin may race, and one of them ends later.
    const fetched = async () => (await salted.edge.status()).bytes.fromOrigins;
    await until(async () => (await fetched()) - before.bytes.fromOrigins >= CHUNK);
    const after = await salted.edge.status();
    expect(after.bytes.fromPeers).toBe(before.bytes.fromPeers);
    // The chunk is kept under its own name: a request without salt finds it there.
    await ask(names.salted, chunk);
    const later = await salted.edge.status();
    expect(later.chunks.memory).toBeGreaterThan(after.chunks.memory);
    expect(later.bytes.fromPeers).toBe(after.bytes.fromPeers);
  });

  test('that sends far slower than others is asked for no more chunks, and every byte comes from these', async () => {
    cluster = await Cluster.start({ nodes: 4, options: OPTIONS, proxies: true });
    const [asking, slow] = [cluster.node(0), cluster.node(3)];
    const download = async () => {
      const file = await files.make(CHUNKS * CHUNK);
      const { status, digest } = await fetchAll(asking.edge.prefixed(file.url));
      expect([status, digest]).toEqual([200, file.digest]);
    };
    const sent = async () => {
      const text = await (await fetch(`${slow.edge.url}/-/metrics`)).text();
      const counts = text.matchAll(/^millrace_inside_chunks_total\S* (\d+)$/gm);
      return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
    };
    // The speed of all nodes is known before one of them becomes slow.
    await download();
    expect(await sent()).toBeGreaterThan(0);
    const begunAt = performance.now();
    if (slow.proxy !== undefined) slow.proxy.chunkRate = 16 * 1024;
    await download();
    const before = await sent();
    await download();
    // After a pause it is rightly asked for some chunks again: no pause ends but on a slow machine.
    const pauses = Math.floor((performance.now() - begunAt) / SLOW_PAUSE_MS);
    expect((await sent()) - before).toBeLessThanOrEqual(4 * pauses);
  });
});
