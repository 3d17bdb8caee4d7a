/** Limits on origins: many of them keep no client out, and none can hold a request by dripping. */

import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { Agent, createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { type Fetched, fetchAll } from '../../fixtures/clients/http-client.ts';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import {
  EdgeProcess,
  type ResourceUse,
  temporaryFolder,
} from '../../fixtures/programs/processes.ts';
import { until } from '../../fixtures/until.ts';

const MAX = 16;
const SHARE = 4;
const TOKEN = 'a token of administrators';
const CONTENT = contentOf('origins', 300_000);
const agents: Agent[] = [];
/** Answers that hang until the test ends. */
const held: ServerResponse[] = [];
/** Number of dripping bodies that the edge has closed. */
let givenUp = 0;
/** Sends the first answer of a held redirect, once that has been asked for. */
let heldRedirect: (() => void) | undefined;
let heldRedirects = 0;
let server: Server;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let edge: EdgeProcess;

/** The server is an origin at every address of the loopback network. */
beforeAll(async () => {
  server = createServer({ keepAliveTimeout: 600_000 }, (req, res) => {
    const path = new URL(req.url as string, 'http://origin').pathname;
    const field = { etag: '"1"', 'cache-control': 'max-age=600', 'keep-alive': 'timeout=600' };
    if (path === '/hang') return void held.push(res);
    if (path === '/dripping-header') {
      const { socket } = res;
      const timer = setInterval(() => socket?.write('HTTP/1.1 103 Early Hints\r\n\r\n'), 50);
      socket?.once('close', () => clearInterval(timer));
      return;
    }
    const [, isHeld, target] = /^\/(held-)?redirect-to-(\d+)$/.exec(path) ?? [];
    if (target !== undefined) {
      const { port } = server.address() as AddressInfo;
      const location = `http://${address(Number(target))}:${port}/redirected`;
      const answer = () => void res.writeHead(302, { location }).end();
      if (isHeld === undefined || heldRedirects++ > 0) answer();
      else heldRedirect = answer;
      return;
    }
    const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(req.headers.range ?? '') ?? [];
    const start = Number(from ?? 0);
    const end = to ? Math.min(Number(to) + 1, CONTENT.length) : CONTENT.length;
    res.writeHead(206, {
      ...field,
      'content-length': end - start,
      'content-range': `bytes ${start}-${end - 1}/${CONTENT.length}`,
    });
    if (path === '/dripping-body') {
      const timer = setInterval(() => res.write('a'), 50);
      res.once('close', () => {
        clearInterval(timer);
        givenUp++;
      });
      return;
    }
    res.end(CONTENT.subarray(start, end));
  });
  await once(server.listen(0, '0.0.0.0'), 'listening');
  folder = await temporaryFolder();
  await writeFile(join(folder.path, 'token'), TOKEN);
  edge = await start('--max-origins', String(MAX));
});
afterEach(async () => {
  for (const agent of agents.splice(0)) agent.destroy();
  for (const res of held.splice(0)) res.socket?.destroy();
  await until(async () => (await edge.status()).transfers.active === 0);
});
afterAll(async () => {
  await edge.stop('SIGKILL');
  server.closeAllConnections();
  server.close();
  await folder.remove();
});

function start(...options: string[]): Promise<EdgeProcess> {
  const origins = Array.from({ length: 80 }, (_, i) => ['--allow-origin', address(i)]).flat();
  const token = join(folder.path, 'token');
  const usual = ['--admin-token-file', token, '--client-requests', '0', '--log-level', 'warn'];
  return EdgeProcess.start([...usual, ...origins, ...options]);
}

async function refusals(of: EdgeProcess): Promise<unknown> {
  const headers = { authorization: `Bearer ${TOKEN}` };
  return JSON.parse(String((await fetchAll(`${of.url}/-/refusals`, { headers })).body));
}

const address = (i: number) => `127.0.1.${i + 1}`;

/** Asks an edge for a path of one origin, as one of several clients. */
function ask(
  client: number,
  origin: number,
  path: string,
  { at = edge, headers = {} }: { at?: EdgeProcess; headers?: Record<string, string> } = {},
): Promise<Fetched> {
  const agent = new Agent({ localAddress: `127.0.0.${client + 1}` });
  agents.push(agent);
  const { port } = server.address() as AddressInfo;
  return fetchAll(at.prefixed(`http://${address(origin)}:${port}${path}`), { agent, headers });
}

async function origins(): Promise<ResourceUse> {
  return (await edge.status()).admission.origins as ResourceUse;
}

const codeOf = ({ body }: Fetched) => JSON.parse(String(body)).code as string;
const isWhole = (got: Fetched) => expect([got.status, got.digest]).toEqual([200, sha256(CONTENT)]);

test('more origins than there are places, each asked once, keep nobody out, with or without keep-alive', async () => {
  for (let i = 0; i < 5 * MAX - 1; i++) isWhole(await ask(1, i, `/${i}`));
  isWhole(await ask(2, 5 * MAX - 1, '/other'));
  expect(await origins()).toMatchObject({ limit: MAX, perClient: SHARE, refused: 0, evicted: 0 });
  // The connections of an origin that lost its place are closed.
  await until(
    () =>
      new Promise((resolve) => {
        server.getConnections((_error, count) => resolve(count <= 2 * MAX));
      }),
  );
});

test('a client with its share of origins in use is refused more, and nobody else', async () => {
  const { refused } = await origins();
  for (let i = 0; i < SHARE; i++) ask(1, i, '/hang').catch(() => {});
  await until(() => held.length >= SHARE);
  const more = await ask(1, 20, '/more');
  expect([more.status, codeOf(more), more.headers['retry-after']]).toEqual([
    429,
    'too-many-origins',
    '1',
  ]);
  // The client may still use an origin that it already uses.
  isWhole(await ask(1, 0, '/more'));
  isWhole(await ask(2, 20, '/more'));
  expect((await origins()).refused).toBe(refused + 1);
  expect(await refusals(edge)).toMatchObject({
    recent: [{ resource: 'origins', outcome: 'refused', client: '127.0.0.2' }],
    clients: { origins: [{ client: '127.0.0.2', error: 0 }] },
  });
  expect((await fetchAll(`${edge.url}/-/refusals`)).status).toBe(401);
});

test('when all places of origins are in use, the client with the most loses one to a client with fewer', async () => {
  const { evicted } = await origins();
  const answers: Fetched[] = [];
  for (let i = 0; i < MAX; i++) {
    const asked = ask(1 + Math.floor(i / SHARE), i, '/hang');
    void asked.then((answer) => answers.push(answer)).catch(() => {});
  }
  await until(() => held.length >= MAX);
  isWhole(await ask(9, 30, '/newcomer'));
  expect((await origins()).evicted).toBe(evicted + 1);
  await until(() => answers.some((answer) => answer.status === 429));
  expect(answers.filter(({ status }) => status === 429).map(codeOf)).toEqual(['too-many-origins']);
});

describe('a client that goes from origin to origin', () => {
  const BURST = 5;
  let strict: EdgeProcess;
  beforeAll(async () => {
    strict = await start('--client-origins', '1', '--trusted-proxy', '127.0.0.100/32');
  });
  afterAll(() => strict.stop('SIGKILL'));

  const visit = (client: number, origin: number, path = '/') =>
    ask(client, origin, path, { at: strict });
  const newOrigins = async () => (await strict.status()).admission.newOrigins as ResourceUse;

  /** Uses up a client's allowance of origins, the given one first. */
  async function tired(client: number, first: number): Promise<void> {
    for (let i = 0; i < BURST; i++) isWhole(await visit(client, first + i));
  }

  function isRefused(got: Fetched): void {
    expect([got.status, codeOf(got)]).toEqual([429, 'too-many-origins']);
    const seconds = Number(got.headers['retry-after']);
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual(60);
  }

  test('is refused new origins for a while, but not those it has used, and nobody else is refused', async () => {
    await tired(1, 0);
    const { refused } = await newOrigins();
    isRefused(await visit(1, 10));
    for (let i = 0; i < BURST; i++) isWhole(await visit(1, i, '/another'));
    isWhole(await visit(2, 10));
    // The edge has the file now, and asks no origin.
    isWhole(await visit(1, 10));
    isRefused(await visit(1, 10, '/another'));
    expect(await newOrigins()).toMatchObject({ perClient: 1, refused: refused + 2 });
    expect(await refusals(strict)).toMatchObject({
      recent: [{ resource: 'newOrigins', outcome: 'refused', client: '127.0.0.2' }],
      clients: { newOrigins: [{ client: '127.0.0.2', error: 0 }] },
    });
    const metrics = String((await fetchAll(`${strict.url}/-/metrics`)).body);
    expect(metrics).toContain(
      'millrace_admission_refusals_total{resource="newOrigins",outcome="refused"}',
    );
  });

  test('does not reach further origins by redirects either', async () => {
    await tired(3, 20);
    isRefused(await visit(3, 20, '/redirect-to-30'));
    isWhole(await visit(4, 20, '/redirect-to-30'));
  });

  test('does not cause the refusal of another client that waits for the same answer', async () => {
    await tired(5, 40);
    const first = visit(5, 40, '/held-redirect-to-50');
    await until(() => heldRedirect !== undefined);
    const second = visit(6, 40, '/held-redirect-to-50');
    await until(async () => (await strict.status()).transfers.active === 2);
    heldRedirect?.();
    isRefused(await first);
    isWhole(await second);
  });

  test('has a limit of its own behind a trusted proxy, which has none', async () => {
    const proxied = (origin: number, client?: string) =>
      ask(99, origin, '/proxied', {
        at: strict,
        headers: client === undefined ? {} : { 'x-forwarded-for': client },
      });
    for (let i = 0; i <= BURST; i++) isWhole(await proxied(60 + i));
    for (let i = 0; i < BURST; i++) isWhole(await proxied(66 + i, '192.0.2.1'));
    isRefused(await proxied(66 + BURST, '192.0.2.1'));
    isWhole(await proxied(66 + BURST, '192.0.2.2'));
  });
});

test('a header that drips for ever ends the request, and a dripping body is given up', async () => {
  const hasty = await EdgeProcess.start([
    ...['--origin-timeout', '1s', '--log-level', 'warn', '--allow-origin', address(0)],
  ]);
  try {
    const { port } = server.address() as AddressInfo;
    const of = (path: string) => hasty.prefixed(`http://${address(0)}:${port}${path}`);
    const header = await fetchAll(of('/dripping-header'));
    expect([header.status, codeOf(header)]).toEqual([504, 'origin-timeout']);
    const client = new AbortController();
    const body = fetchAll(of('/dripping-body'), { signal: client.signal }).catch(() => {});
    // The client is still there: the edge itself gives up.
    await until(() => givenUp > 0);
    client.abort();
    await body;
    await until(async () => (await hasty.status()).admission.origins?.use === 0);
  } finally {
    await hasty.stop('SIGKILL');
  }
});
