/** The nearest edge by measured round trips: clients and edges on hosts with different links. */

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { nginxOrComplain } from '../../fixtures/origins/nginx.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';
import { until } from '../../fixtures/until.ts';
import type { Host } from '../../lab/host.ts';
import { Lab, labOrComplain } from '../../lab/lab.ts';
import { type LabEdge, startEdge, startNginx } from '../../lab/programs.ts';

const what = 'measured round trips of clients';
const { afterAll, beforeAll, describe, test } = testsWhere(
  labOrComplain(what) && nginxOrComplain(what),
);

/** Answers in a row that must be the same once the round trips are known. */
const MANY = 20;
const content = contentOf('near', 100_000);

let lab: Lab;
let url: string;
let far: LabEdge;
let close: LabEdge;

beforeAll(async () => {
  lab = await Lab.open({ seed: 1 });
  await writeFile(join(lab.folder, 'file'), content);
  await writeFile(join(lab.folder, 'secret'), 'the secret of this network');
  const [origin, distant, beside] = [
    lab.host('origin'),
    lab.host('far', { rttMs: 150 }),
    lab.host('close', { rttMs: 2 }),
  ];
  const server = await startNginx(origin, { dir: join(lab.folder, 'nginx'), root: lab.folder });
  url = `${server.url}/file`;
  const start = (host: Host, peer: Host) =>
    startEdge(host, [
      ...['--name', host.name, '--peers', `${peer.address}:3125`],
      ...['--secret-file', join(lab.folder, 'secret')],
      ...['--public-url', `http://${host.address}:3125`, '--allow-origin', origin.address],
    ]);
  [far, close] = await Promise.all([start(distant, beside), start(beside, distant)]);
  for (const edge of [far, close]) {
    await until(async () => (await edge.status()).peers.some(({ usable }) => usable));
  }
});
afterAll(() => lab?.close());

/** Asks an edge for the nearest one, and follows. @returns address of the edge that has answered */
async function follow(client: Host, edge: LabEdge): Promise<string> {
  const format = '%{url_effective}';
  const output = join(lab.folder, client.name);
  const asked = `${edge.url}/-/near/${url}`;
  const { code, stdout } = await client.run('curl', [
    ...['-sS', '--fail', '-L', '-o', output, '-w', format, asked],
  ]);
  expect(code).toBe(0);
  expect(sha256(await readFile(output))).toBe(sha256(content));
  return stdout.slice(0, stdout.indexOf(`/${url}`));
}

describe('a client that asks a distant edge', () => {
  test('is measured by another one, and is sent there from then on', async () => {
    const client = lab.host('client', { rttMs: 4 });
    // Now and then a client is sent to an edge that has not measured its network.
    await until(async () => (await follow(client, far)) === close.url);
    // That edge tells the others what it has measured.
    let inRow = 0;
    await until(async () => {
      inRow = (await follow(client, far)) === close.url ? inRow + 1 : 0;
      return inRow === MANY;
    });
  });
});

describe('a client that asks the nearest edge', () => {
  test('stays there from the first request on, and nobody is sent far away to be measured', async () => {
    const client = lab.host('neighbour', { rttMs: 4 });
    for (let i = 0; i < MANY; i++) expect(await follow(client, close)).toBe(close.url);
  });
});
