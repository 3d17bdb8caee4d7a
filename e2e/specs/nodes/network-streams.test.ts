/** Files of origins without ranges in a network: the origin sends them once. */

import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { fetchAll, openResponse, readAll } from '../../fixtures/clients/http-client.ts';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { StreamOrigin } from '../../fixtures/origins/stream-origin.ts';
import { Cluster, type Node } from '../../fixtures/programs/cluster.ts';
import type { EdgeProcess } from '../../fixtures/programs/processes.ts';
import { until } from '../../fixtures/until.ts';

const CONTENT = contentOf('network streams', 512 * 1024 + 777);
const OTHER = contentOf('another file', CONTENT.length);
let origin: StreamOrigin;
let cluster: Cluster;
let folder: string;
const lost = new Set<Node>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-network-streams-'));
  const rules = join(folder, 'rules.json');
  await writeFile(rules, JSON.stringify({ origins: [{ origin: '127.0.0.1', passAnswers: true }] }));
  origin = await StreamOrigin.start();
  cluster = await Cluster.start({
    nodes: 3,
    options: [
      '--rules-file',
      rules,
      '--chunk-size',
      '65536',
      '--trace-origins',
      'yes',
      '--log-level',
      'debug',
    ],
  });
});
afterAll(async () => {
  await cluster?.stop();
  await origin?.stop();
  await rm(folder, { recursive: true, force: true });
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

test('all nodes get an encoded file with its coding, and whole, of one stream', async () => {
  const headers = { 'cache-control': 'max-age=3600', 'content-encoding': 'gzip', etag: '"file"' };
  const url = origin.add('/encoded', { body: CONTENT, headers, hasLength: true });
  for (const range of [undefined, 'bytes=70000-199999']) {
    const asked = cluster.nodes.map(({ edge }) =>
      fetchAll(edge.prefixed(url), range === undefined ? {} : { headers: { range } }),
    );
    for (const got of await Promise.all(asked)) {
      expect(got).toMatchObject({ status: 200, complete: true, digest: sha256(CONTENT) });
      expect(got.headers['content-encoding']).toBe('gzip');
    }
  }
  expect(origin.count('/encoded')).toBe(1);
});

test('clients of all nodes get the begin of a file of unknown length before its end exists', async () => {
  const path = '/endless';
  const headers = { 'cache-control': 'max-age=3600' };
  const url = origin.add(path, { body: CONTENT, headers, holdAt: 200_000 });
  const responses = await Promise.all(
    cluster.nodes.map(({ edge }) => openResponse(edge.prefixed(url))),
  );
  // The origin has more to say, and says it only once each client has bytes.
  await Promise.all(responses.map((response) => once(response, 'readable')));
  origin.release(path);
  const bodies = await Promise.all(responses.map(readAll));
  const got = bodies.map(({ complete, body }) => [complete, sha256(body)]);
  expect(got).toEqual(cluster.nodes.map(() => [true, sha256(CONTENT)]));
  expect(origin.count(path)).toBeLessThan(cluster.nodes.length);
});

test("not every node asks for a page that says that there is no file; all clients get the origin's", async () => {
  const body = Buffer.from('<h1>no such file, says the origin</h1>');
  const headers = { 'cache-control': 'max-age=3600', 'content-type': 'text/html' };
  const url = origin.add('/missing', { body, headers, status: 404 });
  const asked = cluster.nodes.map(({ edge }) => fetchAll(edge.prefixed(url)));
  for (const { status, body: page, headers: got } of await Promise.all(asked)) {
    expect([status, got['content-type'], page]).toEqual([404, 'text/html', body]);
  }
  // Nodes whose views of the loads differ for a moment may see two owners.
  expect(origin.count('/missing')).toBeLessThan(cluster.nodes.length);
});

test('a trace leads from the log of the asked node over that of another one to the origin', async () => {
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
  const headers = { traceparent: `00-${traceId}-00f067aa0ba902b7-01` };
  // Of several files, other nodes own some.
  const paths = Array.from({ length: 8 }, (_, index) => `/traced-${index}`);
  const [asked, ...others] = cluster.nodes.map(({ edge }) => edge);
  for (const path of paths) {
    const file = { body: CONTENT, headers: { etag: '"traced"' } };
    await fetchAll(asked?.prefixed(origin.add(path, file)) ?? '', { headers });
  }
  const told = paths.map((path) => String(origin.asked.get(path)?.traceparent).slice(3, 35));
  expect(told).toEqual(paths.map(() => traceId));
  type Line = Partial<Record<'traceId' | 'spanId' | 'parentSpanId', string>>;
  const lines = (edge: EdgeProcess) => edge.log.map((line) => JSON.parse(line) as Line);
  const ofTrace = (edge: EdgeProcess) => lines(edge).filter((line) => line.traceId === traceId);
  const spans = () => ofTrace(asked as EdgeProcess);
  // A client has its file before the log has its line.
  await until(() => spans().length === paths.length);
  await until(() => others.some((edge) => ofTrace(edge).length > 0));
  expect(spans().map(({ parentSpanId }) => parentSpanId)).toContain('00f067aa0ba902b7');
  // A node may ask on, if it sees another owner than the node that has asked it.
  const known = cluster.nodes.flatMap(({ edge }) => ofTrace(edge)).map(({ spanId }) => spanId);
  for (const { parentSpanId } of others.flatMap(ofTrace)) expect(known).toContain(parentSpanId);
});

test.each([
  ['goes on with a version that its tag pins', '"pinned"', true],
  ['never joins two answers that nothing pins', undefined, false],
])('a network that loses the node with a stream %s', async (_name, etag, goesOn) => {
  const path = `/lost-${goesOn}`;
  const headers = { 'cache-control': 'max-age=3600', ...(etag === undefined ? {} : { etag }) };
  const url = origin.add(path, { body: CONTENT, headers, holdAt: 200_000 });
  // Nodes that an earlier test has lost stay away.
  const nodes = cluster.nodes.filter((node) => !lost.has(node));
  const before = await Promise.all(nodes.map(originBytes));
  const responses = await Promise.all(nodes.map(({ edge }) => openResponse(edge.prefixed(url))));
  await Promise.all(responses.map((response) => once(response, 'readable')));
  const after = await Promise.all(nodes.map(originBytes));
  const asker = after.findIndex((count, index) => count > (before[index] ?? 0));
  const node = nodes[asker] as Node;
  lost.add(node);
  await node.edge.stop('SIGKILL');
  origin.files.set(path, { body: goesOn ? CONTENT : OTHER, headers });
  origin.release(path);
  const others = responses.filter((_, index) => index !== asker);
  const got = (await Promise.all(others.map(readAll))).map(({ complete, body }) => [
    complete,
    sha256(body),
  ]);
  if (goesOn) expect(got).toEqual(others.map(() => [true, sha256(CONTENT)]));
  else {
    // A node that has asked the origin itself has one of the two files; no client has parts of both.
    const ended = got.filter(([complete]) => complete).map(([, digest]) => digest);
    const mixed = ended.filter((digest) => digest !== sha256(CONTENT) && digest !== sha256(OTHER));
    expect(mixed).toEqual([]);
  }
  responses[asker]?.destroy();
});

async function originBytes({ edge }: Node): Promise<number> {
  const text = (await fetchAll(`${edge.url}/-/metrics`)).body.toString();
  return Number(/^millrace_origin_bytes_total (\d+)/m.exec(text)?.[1] ?? 0);
}
