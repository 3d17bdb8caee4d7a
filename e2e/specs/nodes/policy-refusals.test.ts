/** Nodes of one network whose operators allow different origins. */

import { expect } from '@jest/globals';
import { fetchAll } from '../../fixtures/clients/http-client.ts';
import { nginxOrComplain } from '../../fixtures/origins/nginx.ts';
import { NginxFiles, type OriginFile } from '../../fixtures/origins/nginx-files.ts';
import { Cluster, type Node, usablePeers } from '../../fixtures/programs/cluster.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';

/** The default chunk size would leave a small file to few nodes. */
const OPTIONS = ['--chunk-size', '64KiB', '--cache-memory', '64MiB', '--log-level', 'warn'];
/** Enough chunks that each of three nodes owns some, whatever the names of files. */
const FILE_BYTES = 96 * 64 * 1024;

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

    // The node is in use for everything else, without a pause after its refusals.
    expect(await usablePeers(asking.edge)).toContain(refusing.name);
    expect(await figuresOf(refusing)).toEqual({ refused: refusals, fetched: 0 });
    await fetchWhole(asking, third);
    const after = await figuresOf(refusing);
    expect(after.refused).toBe(refusals);
    expect(after.fetched).toBeGreaterThan(0);
  });
});
