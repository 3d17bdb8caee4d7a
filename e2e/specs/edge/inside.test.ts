/**
 * The protocol between nodes: which nodes may speak it, and that forged or malformed requests do no
 * harm.
 */

import { createHash, createHmac, randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { formatAuthentication, signedText } from '@millrace/shared/cdn/routing/inside-message';
import { fetchAll } from '../../fixtures/clients/http-client.ts';
import { FaultOrigin } from '../../fixtures/faults/fault-origin.ts';
import { freePorts } from '../../fixtures/origins/nginx.ts';
import { Cluster, usablePeers } from '../../fixtures/programs/cluster.ts';
import { EdgeProcess, temporaryFolder } from '../../fixtures/programs/processes.ts';
import { until } from '../../fixtures/until.ts';

const CHUNK = 65_536;
const SECRET = 'a secret of the whole network';
const OPTIONS = ['--allow-origin', '127.0.0.1', '--chunk-size', '64KiB', '--log-level', 'warn'];
const LENGTH = 300_000;
const NAME = 'edge-here';
/** Fields that a signature covers, in the protocol's order. */
const SIGNED = [
  'to',
  'hops',
  'via',
  'avoid',
  'filelen',
  'final-url',
  'port',
  'url',
  'want',
  'purges',
] as const;

let origin: FaultOrigin;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let secretFile: string;
const started: EdgeProcess[] = [];
let cluster: Cluster | undefined;

beforeAll(async () => {
  origin = await FaultOrigin.start();
  folder = await temporaryFolder();
  secretFile = join(folder.path, 'secret');
  await writeFile(secretFile, `${SECRET}\n`);
});

afterEach(async () => {
  await Promise.all(started.splice(0).map((edge) => edge.stop('SIGKILL')));
  await cluster?.stop();
  cluster = undefined;
});

afterAll(async () => {
  await origin.stop();
  await folder.remove();
});

const launch = (...options: string[]) =>
  EdgeProcess.start([...OPTIONS, '--name', NAME, ...options]);

/** Starts an edge that ends with the test. */
async function start(...options: string[]): Promise<EdgeProcess> {
  const edge = await launch(...options);
  started.push(edge);
  return edge;
}

interface Forged {
  readonly secret?: string;
  readonly at?: number;
  readonly nonce?: string;
  readonly hops?: string;
  readonly via?: string;
  /** Name of the node that the request is signed for. */
  readonly to?: string;
  readonly cacheControl?: string;
}

/**
 * Builds the header of a chunk request as another node would send it, except for the forged fields.
 */
function insideHeaders(edge: EdgeProcess, name: string, forged: Forged = {}) {
  const { secret, at = Date.now(), nonce = randomBytes(16).toString('hex') } = forged;
  const fields: Record<string, string> = {
    to: forged.to ?? NAME,
    hops: forged.hops ?? '1',
    via: forged.via ?? 'node-x',
    filelen: String(LENGTH),
  };
  const target = new URL(`${edge.url}/${name}`);
  const { cacheControl = '' } = forged;
  const values = [...SIGNED.map((field) => fields[field] ?? ''), cacheControl];
  const text = signedText('GET', target.pathname + target.search, values, at, nonce);
  const mac = createHmac('sha256', secret ?? SECRET)
    .update(text)
    .digest('hex');
  return {
    'x-bigfile': '1',
    'x-millrace-to': fields.to as string,
    'x-millrace-hops': fields.hops as string,
    'x-millrace-via': fields.via as string,
    'x-filelen': String(LENGTH),
    'x-millrace-auth': formatAuthentication({ at, nonce, mac }),
    ...(cacheControl === '' ? {} : { 'cache-control': cacheControl }),
  };
}

/** Builds the header of a request of another node that has no fields of its own. */
function signedHeaders(method: string, target: string, to: string): Record<string, string> {
  const [at, nonce] = [Date.now(), randomBytes(16).toString('hex')];
  const text = signedText(method, target, [to, ...SIGNED.slice(1).map(() => ''), ''], at, nonce);
  const mac = createHmac('sha256', SECRET).update(text).digest('hex');
  return {
    'content-type': 'application/json',
    'x-millrace-to': to,
    'x-millrace-auth': formatAuthentication({ at, nonce, mac }),
  };
}

const file = () => origin.url('none', { size: LENGTH });
/** Entity tag of the first version of a file at the origin, as a chunk name spells it. */
const TAG = `e.v1-${LENGTH}`;
const chunkName = (start = 0, end = CHUNK - 1, tag = TAG) =>
  `${file()},start=${start},end=${end},v=${tag}`;

async function ask(edge: EdgeProcess, name: string, headers: Record<string, string>) {
  const { status, body } = await fetchAll(`${edge.url}/${name}`, { headers });
  const code = status === 200 ? undefined : (JSON.parse(body.toString()) as { code: string }).code;
  return { status, code, body };
}

describe('with a secret', () => {
  /** A node that the tests of this group ask which leave it as they found it. */
  let edge: EdgeProcess;
  beforeAll(async () => {
    edge = await launch('--secret-file', secretFile);
  });
  afterAll(() => edge.stop('SIGKILL'));

  test('a correctly signed request gets the chunk, with its digest, and only once', async () => {
    const headers = insideHeaders(edge, chunkName());
    const got = await fetchAll(`${edge.url}/${chunkName()}`, { headers });
    expect(got.status).toBe(200);
    expect(got.body.equals(origin.content(file()).subarray(0, CHUNK))).toBe(true);
    const digest = Buffer.from(got.digest, 'hex').toString('base64');
    expect(got.headers['content-digest']).toBe(`sha-256=:${digest}:`);
    expect(got.headers['x-filelen']).toBe(String(LENGTH));
    expect(await ask(edge, chunkName(), headers)).toMatchObject({
      status: 403,
      code: 'inside-request-refused',
    });
  });

  test.each<[string, Forged]>([
    ['of another secret', { secret: 'some other secret' }],
    ['from the past', { at: Date.now() - 3_600_000 }],
    ['from the future', { at: Date.now() + 3_600_000 }],
  ])('a request %s is refused', async (_, forged) => {
    const headers = insideHeaders(edge, chunkName(), forged);
    expect(await ask(edge, chunkName(), headers)).toMatchObject({
      status: 403,
      code: 'inside-request-refused',
    });
  });

  test('a node that is asked only for what it has fetches nothing, and sends what it has, from memory or disk', async () => {
    const dir = join(folder.path, 'held');
    const first = await start('--secret-file', secretFile, '--cache-dir', dir);
    const cacheControl = 'only-if-cached';
    const held = () => ask(first, chunkName(), insideHeaders(first, chunkName(), { cacheControl }));
    const fetches = async () => (await first.status()).fetches.origin?.all ?? 0;
    expect(await held()).toMatchObject({ status: 504, code: 'not-cached' });
    expect(await fetches()).toBe(0);
    const got = await ask(first, chunkName(), insideHeaders(first, chunkName()));
    expect(got.status).toBe(200);
    const again = await held();
    expect([again.status, again.body.equals(got.body)]).toEqual([200, true]);
    expect(await fetches()).toBe(1);
    await first.stop();
    const later = await start('--secret-file', secretFile, '--cache-dir', dir);
    const headers = insideHeaders(later, chunkName(), { cacheControl });
    const stored = await ask(later, chunkName(), headers);
    expect([stored.status, stored.body.equals(got.body)]).toEqual([200, true]);
    expect((await later.status()).fetches.origin?.all ?? 0).toBe(0);
  });

  test('a request that was altered in transit, or not signed, is refused', async () => {
    const { 'x-millrace-auth': signature, ...unsigned } = insideHeaders(edge, chunkName());
    const altered = { ...unsigned, 'x-millrace-hops': '2', 'x-millrace-auth': signature };
    for (const headers of [unsigned, altered]) {
      expect(await ask(edge, chunkName(), headers)).toMatchObject({ status: 403 });
    }
    expect((await fetch(`${edge.url}/-/ping`)).status).toBe(403);
    expect((await edge.status()).peers).toEqual([]);
  });

  test('a request for one node, replayed at another, gets nothing there', async () => {
    const token = join(folder.path, 'admin-token');
    await writeFile(token, 'the token of administrators');
    const [here, there] = await Promise.all(
      [NAME, 'edge-there'].map((name) =>
        start('--secret-file', secretFile, '--admin-token-file', token, '--name', name),
      ),
    );
    const headers = insideHeaders(here as EdgeProcess, chunkName());
    const code = 'inside-request-refused';
    expect(await ask(there as EdgeProcess, chunkName(), headers)).toMatchObject({ code });
    expect(await ask(here as EdgeProcess, chunkName(), headers)).toMatchObject({ status: 200 });
    const command = JSON.stringify({
      do: 'purge',
      purge: { target: { kind: 'all' }, id: 'x', at: Date.now() },
      network: true,
    });
    const digest = createHash('sha256').update(command).digest('hex');
    for (const [method, path, body] of [
      ['GET', '/-/ping', undefined],
      ['GET', '/-/purges', undefined],
      ['GET', '/-/pinned', undefined],
      ['POST', `/-/command?digest=${digest}`, command],
    ] as const) {
      const signed = signedHeaders(method, path, NAME);
      const send = (edge: EdgeProcess | undefined) =>
        fetch(`${edge?.url}${path}`, { method, headers: signed, ...(body && { body }) });
      const refused = await send(there);
      expect([path, refused.status, (await refused.json()).code]).toEqual([path, 403, code]);
      expect([path, (await send(here)).status]).toEqual([path, 200]);
      expect([path, (await send(here)).status]).toEqual([path, 403]);
    }
    expect((await (there as EdgeProcess).status()).administration.purges).toBe(0);
  });

  test('nodes with different secrets do not become peers; nodes with the same secret do', async () => {
    const otherFile = join(folder.path, 'other');
    await writeFile(otherFile, 'not the same secret at all');
    cluster = await Cluster.start({
      nodes: 0,
      options: OPTIONS,
      perNode: (index) => ['--secret-file', index === 2 ? otherFile : secretFile],
    });
    for (let i = 0; i < 3; i++) await cluster.add();
    const [a, b, stranger] = cluster.nodes.map(({ edge }) => edge) as [
      EdgeProcess,
      EdgeProcess,
      EdgeProcess,
    ];
    await until(async () => (await usablePeers(a)).join() === 'node-1');
    await until(async () => (await usablePeers(b)).join() === 'node-0');
    expect(await usablePeers(stranger)).toEqual([]);
    for (const edge of [a, b, stranger]) {
      expect((await fetchAll(edge.prefixed(file()))).digest).toBe(origin.digest(file()));
    }
    expect((await a.status()).forwards.all + (await b.status()).forwards.all).toBeGreaterThan(0);
  });

  test.each([
    ['not aligned', () => chunkName(1000, 1000 + CHUNK - 1)],
    ['of no legal size', () => chunkName(0, 99_999)],
    ['behind the end', () => chunkName(CHUNK * 100, CHUNK * 101 - 1)],
    ['with no version', () => `${file()},start=0,end=${CHUNK - 1}`],
    ['with a version in another spelling', () => chunkName(0, CHUNK - 1, 'e.%61')],
    ['no chunk at all', () => file()],
    ['of a URL in another spelling', () => chunkName().replace('127.0.0.1', '127.1')],
  ])('a chunk name that is %s is refused', async (_, name) => {
    const headers = insideHeaders(edge, name());
    expect(await ask(edge, name(), headers)).toMatchObject({ status: 400, code: 'bad-chunk-name' });
  });

  test('policy applies to peers as well', async () => {
    const name = chunkName().replace('127.0.0.1', '127.0.0.2');
    const headers = insideHeaders(edge, name);
    expect(await ask(edge, name, headers)).toMatchObject({ code: 'origin-not-allowed' });
  });

  test.each<[string, Forged, string]>([
    ['that has been here', { via: `node-x ${NAME}` }, 'loop-detected'],
    ['with no hop count', { hops: '' }, 'bad-chunk-name'],
    ['with an absurd hop count', { hops: '99' }, 'bad-chunk-name'],
  ])('a request %s is refused', async (_, forged, code) => {
    const headers = insideHeaders(edge, chunkName(), forged);
    expect(await ask(edge, chunkName(), headers)).toMatchObject({ code });
  });

  test('headers that are far too long are refused, and the node keeps running', async () => {
    const headers = { ...insideHeaders(edge, chunkName()), 'x-millrace-avoid': 'a'.repeat(60_000) };
    const got = await fetchAll(`${edge.url}/${chunkName()}`, { headers }).catch(() => undefined);
    expect(got?.status ?? 400).toBeGreaterThanOrEqual(400);
    expect((await fetchAll(edge.prefixed(file()))).digest).toBe(origin.digest(file()));
  });
});

describe('without a secret', () => {
  test('an edge outside any network refuses requests between nodes', async () => {
    const edge = await start();
    expect(await ask(edge, chunkName(), insideHeaders(edge, chunkName()))).toMatchObject({
      code: 'inside-request-refused',
    });
    expect((await fetch(`${edge.url}/-/ping`)).status).toBe(404);
  });

  test('the log says that peers must be on loopback; other peers are not asked', async () => {
    const edge = await start('--peers', '192.0.2.1:3125');
    await edge.logged(/peers must be on loopback/);
    await edge.logged(/no --secret-file given/);
  });
});

describe('mistakes in the set-up', () => {
  test('a node with itself among its peers, under several names, does not ask itself', async () => {
    const port = String(await freePorts());
    const edge = await start(
      ...['--port', port, '--peers', `127.0.0.1:${port}`, '--peers', `localhost:${port}`],
    );
    expect((await fetchAll(edge.prefixed(file()))).digest).toBe(origin.digest(file()));
    await until(async () => (await edge.status()).inside.requests === 0);
    expect((await edge.status()).peers).toEqual([]);
  });

  test('two names for one node make one peer', async () => {
    const first = await start('--peers', '127.0.0.1:1', '--name', 'first');
    const { port } = new URL(first.url);
    const second = await start(
      ...['--peers', `localhost:${port}`, '--peers', `127.0.0.1:${port}`, '--name', 'second'],
    );
    await until(async () => (await usablePeers(second)).length === 1);
    await until(async () => (await usablePeers(first)).length === 1);
    expect((await fetchAll(second.prefixed(file()))).digest).toBe(origin.digest(file()));
    expect((await second.status()).peers.map(({ name }) => name)).toEqual(['first']);
  });

  test('two nodes with the same name work alone, and log the conflict', async () => {
    const first = await start('--peers', '127.0.0.1:1', '--name', 'twin');
    const { port } = new URL(first.url);
    const second = await start('--peers', `127.0.0.1:${port}`, '--name', 'twin');
    for (const edge of [first, second]) {
      expect((await fetchAll(edge.prefixed(file()))).digest).toBe(origin.digest(file()));
      expect(await usablePeers(edge)).toEqual([]);
    }
    await until(() => second.log.some((line) => line.includes('another node has the same name')));
  });

  test('a node that reaches itself does not mistake itself for another with its name', async () => {
    const first = await start('--peers', '127.0.0.1:1', '--name', 'first');
    const { port } = new URL(first.url);
    const second = await start('--peers', `127.0.0.1:${port}`, '--name', 'second');
    await until(async () => (await usablePeers(second)).length === 1);
    // By now each node has learned its own address from the other.
    expect([...first.log, ...second.log].join()).not.toMatch(/same name/);
  });
});
