/** Interim answers of origins (102, 103): passed on to the client that asks, and harmless to all others. */

import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { parseRange } from '@millrace/shared/http/fields/range-header';
import { readAll } from '../../fixtures/clients/h2-client.ts';
import { fetchAll } from '../../fixtures/clients/http-client.ts';
import { rawExchange } from '../../fixtures/clients/raw-client.ts';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import type { EdgeProcess } from '../../fixtures/programs/processes.ts';
import { H2Stage } from '../../fixtures/stages/h2-stage.ts';

const CONTENT = contentOf('interim', 300_000);
const stage = new H2Stage();
let origin: Server;
let edge: EdgeProcess;
let base: string;

/** Sends interim answers before each answer, with ranges for all paths but `/whole`. */
beforeAll(async () => {
  origin = createServer((req, res) => {
    res.writeProcessing();
    res.writeEarlyHints({
      link: '</s.css>; rel=preload; as=style',
      'x-hint': '1',
      'set-cookie': 'a',
    });
    const path = req.url ?? '';
    const headers = { 'cache-control': path === '/no-store' ? 'no-store' : 'max-age=3600' };
    const [range] = parseRange(req.headers.range) ?? [];
    if (path === '/whole' || range === undefined || !('from' in range)) {
      return void res.writeHead(200, { ...headers, etag: '"i"' }).end(CONTENT);
    }
    const end = Math.min(CONTENT.length, (range.to ?? CONTENT.length) + 1);
    res.writeHead(206, {
      ...headers,
      etag: '"i"',
      'content-length': end - range.from,
      'content-range': `bytes ${range.from}-${end - 1}/${CONTENT.length}`,
    });
    res.end(CONTENT.subarray(range.from, end));
  });
  await once(origin.listen(0, '127.0.0.1'), 'listening');
  base = `http://127.0.0.1:${(origin.address() as AddressInfo).port}`;
});
afterAll(async () => {
  origin.closeAllConnections();
  await once(origin.close(), 'close');
});

beforeEach(async () => {
  edge = await stage.start();
});

async function interims(url: string): Promise<[number, IncomingHttpHeaders][]> {
  const seen: [number, IncomingHttpHeaders][] = [];
  const req = request(edge.prefixed(url), { agent: false });
  req.on('information', ({ statusCode, headers }) => seen.push([statusCode, headers]));
  const [res] = await once(req.end(), 'response');
  const pieces: Buffer[] = [];
  for await (const piece of res) pieces.push(piece as Buffer);
  expect(sha256(Buffer.concat(pieces))).toBe(sha256(CONTENT));
  return seen;
}

const ALL = () => [
  [102, {}],
  [103, { link: `<${base}/s.css>; rel="preload"; as="style"`, 'x-hint': '1' }],
];

test('reach the client that asks the origin, and not those that the cache answers', async () => {
  for (const path of ['/chunks', '/whole']) {
    expect(await interims(base + path)).toEqual(ALL());
    expect(await interims(base + path)).toEqual([]);
  }
  // Of an answer that is passed through they come every time.
  for (let i = 0; i < 2; i++) {
    expect(await interims(`${base}/no-store`)).toEqual(expect.arrayContaining(ALL()));
  }
});

test('do not reach clients of HTTP/1.0, and harm no other chunk', async () => {
  const [answer] = await rawExchange(
    edge.url,
    `GET /${base}/old HTTP/1.0\r\nHost: x\r\n\r\n`,
    'server',
  );
  expect(answer?.status).toBe(200);
  const got = await fetchAll(edge.prefixed(`${base}/parts`), { headers: { range: 'bytes=1000-' } });
  expect(got.digest).toBe(sha256(CONTENT.subarray(1000)));
});

test('reach clients of HTTP/2', async () => {
  const client = await stage.connect(edge);
  const stream = client.session.request({ ':path': `/${base}/h2` });
  const seen: [number, unknown, unknown][] = [];
  stream.on('headers', (head) => seen.push([head[':status'] ?? 0, head.link, head['x-hint']]));
  const { digest } = await readAll(stream);
  expect(digest).toBe(sha256(CONTENT));
  const [, [, { link } = {}]] = ALL() as [unknown, [number, { link?: string }]];
  expect(seen).toEqual([
    [102, undefined, undefined],
    [103, link, '1'],
  ]);
});
