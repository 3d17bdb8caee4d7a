/** Edges behind nginx, with the configuration that operators are given. */

import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { FaultOrigin } from '../../fixtures/faults/fault-origin.ts';
import { sha256 } from '../../fixtures/origins/content.ts';
import { freePorts, Nginx, nginxOrComplain } from '../../fixtures/origins/nginx.ts';
import { EdgeProcess, temporaryFolder } from '../../fixtures/programs/processes.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';
import { DEPLOY } from '../../fixtures/tools/repository.ts';

const { afterAll, beforeAll, test } = testsWhere(nginxOrComplain('edges behind nginx'));

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let origin: FaultOrigin;
let front: Nginx;
let ports: readonly number[];
const edges: EdgeProcess[] = [];

const startEdge = async (index: number) => {
  edges[index] = await EdgeProcess.start([
    ...['--port', `${ports[index]}`, '--allow-origin', '127.0.0.1'],
    ...['--trusted-proxy', '127.0.0.1/32', '--client-transfers', '3'],
  ]);
};

beforeAll(async () => {
  [folder, origin] = await Promise.all([temporaryFolder(), FaultOrigin.start()]);
  const first = await freePorts(2);
  ports = [first, first + 1];
  await Promise.all([startEdge(0), startEdge(1)]);
  const text = await readFile(join(DEPLOY, 'nginx/millrace.conf'), 'utf8');
  const part = (pattern: RegExp) => pattern.exec(text)?.[0] ?? '';
  front = await Nginx.start({
    dir: join(folder.path, 'nginx'),
    root: folder.path,
    // As it stands, but for the edges' addresses, and without the certificate.
    http: part(/^upstream [\s\S]*?^}/m)
      .replace('10.0.0.1:3125', `127.0.0.1:${ports[0]}`)
      .replace('10.0.0.2:3125', `127.0.0.1:${ports[1]}`),
    server: part(/^ {2}location [\s\S]*?^ {2}}/m),
  });
});

afterAll(async () => {
  await front?.stop();
  await Promise.all(edges.map((edge) => edge.stop()));
  await origin?.stop();
  await folder?.remove();
});

/** Asks nginx for a file as this client. */
async function ask(url: string, client: string): Promise<IncomingMessage> {
  const [answer] = await once(
    request(`${front.url}/${url}`, { headers: { 'x-forwarded-for': client }, agent: false }).end(),
    'response',
  );
  return answer;
}

async function digestOf(answer: IncomingMessage): Promise<string> {
  const body: Buffer[] = [];
  for await (const data of answer) body.push(data);
  return sha256(Buffer.concat(body));
}

test('all edges are restarted, one right after the other, and no request fails', async () => {
  const fetched = async (seed: string) => {
    const url = origin.url('none', { seed, size: 300_000 });
    const answer = await ask(url, '192.0.2.1');
    expect([answer.statusCode, await digestOf(answer)]).toEqual([200, origin.digest(url)]);
  };
  for (const index of [0, 1, 0, 1]) {
    await edges[index]?.stop();
    // nginx finds that this edge does not answer, whichever one it asks first.
    for (let i = 0; i < 3; i++) await fetched(`without ${index} ${i}`);
    await startEdge(index);
  }
  await fetched('the end');
});

test('a URL reaches the edge as it is written', async () => {
  const url = `${origin.url('none', { seed: 'a//b/%2e%2e/c', size: 1000 })}&x=%2F%25//y`;
  const answer = await ask(url, '192.0.2.1');
  expect([answer.statusCode, await digestOf(answer)]).toEqual([200, origin.digest(url)]);
});

test('each client has its own limits', async () => {
  const url = origin.url('none', { seed: 'held', size: 40_000_000 });
  const held = await Promise.all(Array.from({ length: 8 }, () => ask(url, '192.0.2.7')));
  expect(held.filter(({ statusCode }) => statusCode === 429).length).toBeGreaterThan(0);
  const other = await ask(origin.url('none', { seed: 'other', size: 1000 }), '198.51.100.9');
  expect(other.statusCode).toBe(200);
  for (const answer of [...held, other]) answer.destroy();
});
