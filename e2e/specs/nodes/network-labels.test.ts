/** Purges by label in a network: whichever node owns a file, nobody gets it once it is purged. */

import { expect, test } from '@jest/globals';
import { fetchAll } from '../../fixtures/clients/http-client.ts';
import { ScriptedOrigin } from '../../fixtures/origins/scripted-origin.ts';
import { ask } from '../../fixtures/programs/admin-client.ts';
import { AdminStage } from '../../fixtures/stages/admin-stage.ts';

const stage = await AdminStage.set();

test.each([
  ['at one node holds for what other nodes have', false],
  ['of the network holds at all nodes', true],
])('a purge by label %s', async (_what, network) => {
  await using done = new AsyncDisposableStack();
  const origin = await ScriptedOrigin.start();
  done.defer(() => origin.stop());
  const cluster = await stage.network(2);
  const edges = cluster.nodes.map(({ edge }) => edge);
  // With several files, both nodes own some.
  const names = Array.from({ length: 8 }, (_, i) => `f${i}`);
  const urls = names.map((name) =>
    origin.script(
      `/${name}`,
      ...['old', 'new'].map((state) => ({
        body: `${state} ${name}`,
        headers: {
          etag: `"${state}"`,
          'cache-control': 'max-age=3600',
          'surrogate-key': 'x group',
        },
      })),
    ),
  );
  const texts = async (edge = edges[0]) =>
    Promise.all(
      urls.map(async (url) => (await fetchAll(edge?.prefixed(url) ?? '')).body.toString()),
    );
  const all = (state: string) => names.map((name) => `${state} ${name}`);
  for (const edge of edges) expect(await texts(edge)).toEqual(all('old'));
  const { body } = await ask(edges[0] as (typeof edges)[0], 'POST', 'purge', {
    label: 'group',
    network,
  });
  if (network) expect(body.nodes).toMatchObject([{ ok: true }]);
  expect(await texts(edges[0])).toEqual(all('new'));
  if (network) expect(await texts(edges[1])).toEqual(all('new'));
  expect(names.map((name) => origin.asked(`/${name}`).length)).toEqual(names.map(() => 2));
});
