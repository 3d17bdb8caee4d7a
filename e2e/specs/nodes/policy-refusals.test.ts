/** Nodes of one network whose operators allow different origins. */

import { expect } from '@jest/globals';
import { hashText, rank } from '@millrace/shared/cdn/routing/hrw';
import { fetchAll } from '../../fixtures/clients/http-client.ts';
import { sha256 } from '../../fixtures/origins/content.ts';
import { nginxOrComplain } from '../../fixtures/origins/nginx.ts';
import { NginxFiles, type OriginFile } from '../../fixtures/origins/nginx-files.ts';
import { Cluster, type Node, racesOf } from '../../fixtures/programs/cluster.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';
import { until } from '../../fixtures/until.ts';

const CHUNK = 64 * 1024;
/** The default chunk size would leave a small file to few nodes. */
const OPTIONS = ['--chunk-size', '64KiB', '--cache-memory', '64MiB', '--log-level', 'warn'];
/** Enough chunks that each of three nodes owns some, whatever the names of files. */
const CHUNKS = 96;
const FILE_BYTES = CHUNKS * CHUNK;

const { afterAll, afterEach, beforeAll, describe, test } = testsWhere(
  nginxOrComplain('policies that differ between edges'),
);
let refused: NginxFiles;
let allowed: NginxFiles;
let cluster: Cluster | undefined;

beforeAll(async () => {
  [refused, allowed] = await Promise.all([NginxFiles.start(), NginxFiles.start()]);
});

afterEach(async () => {
  await cluster?.stop();
  cluster = undefined;
});

afterAll(async () => {
  await Promise.all([refused?.stop(), allowed?.stop()]);
});

/** Requests of other nodes that a node has refused, and the bytes that it has fetched itself. */
async function figuresOf({ edge }: Node): Promise<{ refused: number; fetched: number }> {
  const { inside, bytes } = await edge.status();
  return { refused: inside.refused, fetched: bytes.fromOrigins };
}

async function fetchWhole(node: Node, file: OriginFile): Promise<void> {
  const got = await fetchAll(node.edge.prefixed(file.url));
  expect([got.status, got.complete, got.digest]).toEqual([200, true, file.digest]);
}

describe('a node that refuses an origin by its policy', () => {
  test('is not asked for that origin again, and is still asked for others', async () => {
    const [first, second, third] = [
      await refused.make(FILE_BYTES),
      await refused.make(FILE_BYTES),
      await allowed.make(FILE_BYTES),
    ];
    const hosts = (...of: OriginFile[]) =>
      of.flatMap(({ url }) => ['--allow-origin', new URL(url).host]);
    cluster = await Cluster.start({
      nodes: 3,
      options: OPTIONS,
      perNode: (index) => (index === 1 ? hosts(third) : hosts(first, third)),
    });
    const [asking, refusing, willing] = [cluster.node(0), cluster.node(1), cluster.node(2)];
    await fetchWhole(asking, first);
    const refusals = (await figuresOf(refusing)).refused;
    expect(refusals).toBeGreaterThan(0);

    // The next file of that origin: the refusing node is not asked for one chunk of it.
    const before = await figuresOf(willing);
    await fetchWhole(asking, second);
    expect((await figuresOf(refusing)).refused).toBe(refusals);
    // Its chunks go to the other nodes.
    expect((await figuresOf(willing)).fetched).toBeGreaterThan(before.fetched);

    // The node stays a peer for everything else. Any peer may be away for a moment.
    expect(await figuresOf(refusing)).toEqual({ refused: refusals, fetched: 0 });
    await until(async () => {
      await fetchWhole(asking, await allowed.make(FILE_BYTES));
      return (await figuresOf(refusing)).fetched > 0;
    });
    expect((await figuresOf(refusing)).refused).toBe(refusals);
  });

  test('is stood in for by the next best node, which asks another for what that has before the origin', async () => {
    const file = await refused.make(FILE_BYTES);
    const { host } = new URL(file.url);
    cluster = await Cluster.start({
      nodes: 1,
      options: OPTIONS,
      perNode: (index) => ['--allow-origin', index === 1 ? 'elsewhere.example' : host],
    });
    // A node alone has the whole file; then the owner of some of its chunks comes, and a third node.
    const holder = cluster.node(0);
    await fetchWhole(holder, file);
    const [owner, standIn] = [await cluster.add(), await cluster.add()];
    await cluster.ready();
    const order = [owner, standIn, holder].map(({ name }) => name).join();
    const nodes = cluster.nodes.map(({ name }) => ({ name, seed: hashText(name), weight: 1 }));
    const chunks = Array.from({ length: CHUNKS }, (_, i) => i).filter((i) => {
      const ranked = rank(`${file.url},start=${i * CHUNK}`, nodes, 3);
      return ranked.map(({ name }) => name).join() === order;
    });
    expect(chunks.length).toBeGreaterThan(0);
    const get = (start: number, end: number) =>
      fetchAll(standIn.edge.prefixed(file.url), {
        headers: { range: `bytes=${start}-${end - 1}` },
      });
    // The version is known before.
    expect((await get(0, 1)).status).toBe(206);
    const before = await figuresOf(standIn);
    const racedBefore = await racesOf([standIn.edge]);
    for (const chunk of chunks) {
      const [start, end] = [chunk * CHUNK, (chunk + 1) * CHUNK];
      const { status, digest } = await get(start, end);
      expect([status, digest]).toEqual([206, sha256(file.content.subarray(start, end))]);
    }
    // On a slow machine, the other node may say too late that it has a chunk, or all of them.
    const fetched = (await figuresOf(standIn)).fetched - before.fetched;
    const races = (await racesOf([standIn.edge])) - racedBefore;
    expect(fetched).toBeLessThan((chunks.length + races) * CHUNK);
  });
});
