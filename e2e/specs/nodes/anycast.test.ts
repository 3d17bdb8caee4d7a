/** One address at two edges, announced by real routing daemons (ANYCAST 2.2, 3.3). */

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { nginxOrComplain } from '../../fixtures/origins/nginx.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';
import { until } from '../../fixtures/until.ts';
import { type AnycastRoutes, birdOrComplain, startBirds } from '../../lab/bird.ts';
import type { Host } from '../../lab/host.ts';
import { Lab, labOrComplain } from '../../lab/lab.ts';
import { type LabEdge, runMillrace, startEdge, startNginx } from '../../lab/programs.ts';
import { ANYCAST_ADDRESS } from '../../lab/topologies.ts';

const TOKEN = 'token of the administrator';
/** File that a client needs some minutes for at its first rate, and seconds at its later one. */
const BYTES = 24_000_000;
const [FIRST_MEGABITS, LATER_MEGABITS] = [1, 100];
const content = contentOf('anycast', BYTES);

const WHAT = 'anycast routes with real routing daemons';
const { afterEach, beforeEach, describe, test } = testsWhere(
  labOrComplain(WHAT) && birdOrComplain(WHAT) && nginxOrComplain(WHAT),
);

describe('an anycast address of two edges', () => {
  let lab: Lab;
  let client: Host;
  let file: string;
  let routes: AnycastRoutes;
  let edges: LabEdge[];

  beforeEach(async () => {
    lab = await Lab.open({ seed: 1 });
    const origin = lab.host('origin');
    client = lab.host('client', { downMbit: FIRST_MEGABITS });
    const root = join(lab.folder, 'www');
    await mkdir(root);
    await writeFile(join(root, 'file'), content);
    await writeFile(join(lab.folder, 'token'), TOKEN);
    const nginx = await startNginx(origin, { dir: join(lab.folder, 'nginx'), root });
    file = `${nginx.url}/file`;
    routes = await startBirds(lab, ANYCAST_ADDRESS, [lab.host('edge-1'), lab.host('edge-2')]);
    edges = await Promise.all(
      routes.hosts.map(({ host, options }) =>
        startEdge(host, [
          ...['--name', host.name, '--allow-origin', origin.address, ...options],
          ...['--anycast-rise', '100ms', '--anycast-hold', '100ms'],
          // Longer than anything takes here: whatever happens before it is over, no reset caused.
          ...['--leave-time', '10m'],
          ...['--admin-token-file', join(lab.folder, 'token')],
        ]),
      ),
    );
    await until(async () => (await routes.next()) === routes.hosts[0]?.host);
  });

  afterEach(() => lab?.close());

  const anycast = `http://${ANYCAST_ADDRESS}:3125`;
  /** Name of the edge that new connections to the address reach. */
  const reached = async () =>
    (JSON.parse(await client.get(`${anycast}/-/status`)) as { name: string }).name;
  const drain = (host: Host, method: string) =>
    host.run('curl', [
      ...['-sf', '-X', method, '-H', `Authorization: Bearer ${TOKEN}`],
      `http://${host.address}:3125/-/drain`,
    ]);
  const becomes = (name: string) =>
    until(async () => (await routes.next())?.name === name && (await reached()) === name);

  test('a drained edge is left before it resets anybody, and a download goes on at the other', async () => {
    const [first, second] = routes.hosts.map(({ host }) => host) as [Host, Host];
    const [one, two] = edges as [LabEdge, LabEdge];
    expect(await reached()).toBe('edge-1');
    const output = join(lab.folder, 'output');
    const download = runMillrace(client, ['get', `${anycast}/${file}`, '-o', output, '--quiet']);
    await until(async () => (await one.status()).transfers.active > 0);
    expect(await drain(first, 'POST')).toMatchObject({ code: 0 });
    // While the first one still serves everybody, new connections reach the second.
    await until(async () => (await routes.next()) === second);
    expect(await reached()).toBe('edge-2');
    expect((await one.status()).draining).toBe(false);
    // It has not come to its end before the route was another one.
    lab.change(client, { downMbit: LATER_MEGABITS });
    expect(await download).toMatchObject({ code: 0, stderr: '' });
    expect(sha256(await readFile(output))).toBe(sha256(content));
    expect((await two.status()).bytes.toClients).toBeGreaterThan(0);
    // The first one has nobody left whom it would have to reset.
    await until(async () => (await one.status()).transfers.active === 0);
    expect(await one.status()).toMatchObject({ draining: false, clients: { offloaded: 0 } });
    // It comes back when it is wanted again.
    expect(await drain(first, 'DELETE')).toMatchObject({ code: 0 });
    await becomes('edge-1');
  });

  test('an edge that is told to end is left first; what a killed one leaves is cleaned up', async () => {
    const [one, two] = edges as [LabEdge, LabEdge];
    one.child.kill('SIGTERM');
    await becomes('edge-2');
    expect(one.child.exitCode).toBeNull();
    await two.stop('SIGKILL');
    expect((await routes.next())?.name).toBe('edge-2');
    const [, second] = routes.hosts;
    if (second === undefined) throw new Error('there are two edges');
    expect(await second.host.run('sh', ['-c', second.cleanUp])).toMatchObject({ code: 0 });
    await until(async () => (await routes.next()) === undefined);
  });
});
