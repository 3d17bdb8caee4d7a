/** Files of origins without ranges in a network: the origin sends them once. */

import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { fetchAll } from '../../fixtures/clients/http-client.ts';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { StreamOrigin } from '../../fixtures/origins/stream-origin.ts';
import { Cluster } from '../../fixtures/programs/cluster.ts';

const CONTENT = contentOf('network streams', 512 * 1024 + 777);
let origin: StreamOrigin;
let cluster: Cluster;

beforeAll(async () => {
  origin = await StreamOrigin.start();
  cluster = await Cluster.start({
    nodes: 3,
    options: ['--allow-origin', '127.0.0.1', '--chunk-size', '65536', '--log-level', 'warn'],
  });
});
afterAll(async () => {
  await cluster?.stop();
  await origin?.stop();
});

test.each([
  ['with a length', true],
  ['without a length', false],
])('all nodes get a file %s of one stream', async (name, hasLength) => {
  const path = `/${name.replaceAll(' ', '-')}`;
  const headers = { 'cache-control': 'max-age=3600' };
  const url = origin.add(path, { body: CONTENT, headers, hasLength });
  const ask = async (range?: string) => {
    const asked = cluster.nodes.map(({ edge }) =>
      fetchAll(edge.prefixed(url), range === undefined ? {} : { headers: { range } }),
    );
    return (await Promise.all(asked)).map(({ complete, digest }) => ({ complete, digest }));
  };
  const whole = { complete: true, digest: sha256(CONTENT) };
  expect(await ask()).toEqual(cluster.nodes.map(() => whole));
  expect(await ask()).toEqual(cluster.nodes.map(() => whole));
  const part = { complete: true, digest: sha256(CONTENT.subarray(70_000, 200_000)) };
  expect(await ask('bytes=70000-199999')).toEqual(cluster.nodes.map(() => part));
  expect(origin.count(path)).toBe(1);
});
