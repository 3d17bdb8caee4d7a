/** Tunnels: answers that cannot be cut into chunks, as slow as their client or their origin. */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { fetchAll, openResponse, readAll } from '../../fixtures/clients/http-client.ts';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { EdgeProcess } from '../../fixtures/programs/processes.ts';
import { until } from '../../fixtures/until.ts';

/** A body that is larger than the buffers of two connections and of the edge. */
const CONTENT = contentOf('tunnels', 32 * 1024 * 1024);
/** Bytes that the client takes between two of its pauses. */
const PIECE_BYTES = 4 * 1024 * 1024;
const DRIPS = 100;
/** Together the drips take more than twice the edge's limit on silence. */
const DRIP_EVERY_MS = 65;
/** Content of a file that is small. */
const SMALL = contentOf('small', 1000);
/** Methods, paths and ranges of the requests that reached the origin. */
const asked: string[] = [];
/** Accept of the requests for each path. */
const accepted = new Map<string, (string | undefined)[]>();
let server: Server;
let edge: EdgeProcess;

beforeAll(async () => {
  server = createServer((req, res) => {
    const { pathname } = new URL(req.url as string, 'http://origin');
    asked.push(`${req.method} ${pathname} ${req.headers.range ?? ''}`.trim());
    accepted.set(pathname, [...(accepted.get(pathname) ?? []), req.headers.accept]);
    if (pathname === '/varies') {
      const range = `bytes 0-${SMALL.length - 1}/${SMALL.length}`;
      const fields = { 'content-range': range, etag: '"one"', vary: 'Origin, Accept, User-Agent' };
      return void res.writeHead(206, { ...fields, 'cache-control': 'max-age=3600' }).end(SMALL);
    }
    if (pathname === '/small') return void res.end(SMALL);
    if (pathname === '/asset') {
      res.writeHead(200, { vary: 'Accept, Authorization', 'cache-control': 'max-age=60' });
      return void res.end(req.headers.accept === 'application/octet-stream' ? SMALL : '{}');
    }
    if (pathname === '/no-head' && req.method === 'HEAD') return void res.writeHead(405).end();
    if (pathname === '/content' || pathname === '/no-head') return void res.end(CONTENT);
    if (pathname === '/events') {
      let sent = 0;
      res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
      const timer = setInterval(() => {
        res.write('\n');
        if (++sent < DRIPS) return;
        clearInterval(timer);
        res.end();
      }, DRIP_EVERY_MS);
      return void res.once('close', () => clearInterval(timer));
    }
    // The body begins, and nothing follows.
    res.write('silence');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  edge = await EdgeProcess.start([
    ...['--origin-timeout', '3s', '--log-level', 'warn', '--allow-origin', '127.0.0.1'],
  ]);
});
afterAll(async () => {
  await edge?.stop('SIGKILL');
  server.closeAllConnections();
  server.close();
});

const of = (path: string) => {
  const { port } = server.address() as AddressInfo;
  return edge.prefixed(`http://127.0.0.1:${port}${path}`);
};

/** Resolves when the edge has given up a silent origin, after its limit by its own clock. */
async function silenceOver(): Promise<void> {
  expect(await fetchAll(of('/silent'))).toMatchObject({ status: 200, complete: false });
}

/** Takes at least a number of bytes of a body that is paused before and after. */
async function take(response: IncomingMessage, bytes: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let taken = 0;
  while (taken < bytes) {
    const piece = response.read() as Buffer | null;
    if (piece === null) await once(response, 'readable');
    else {
      pieces.push(piece);
      taken += piece.length;
    }
  }
  return Buffer.concat(pieces);
}

test('a client that pauses for longer than any limit on origins gets all of a fast origin’s file', async () => {
  const response = await openResponse(of('/content'));
  expect(response.statusCode).toBe(200);
  const pieces: Buffer[] = [];
  for (let pause = 0; pause < 2; pause++) {
    // The client pauses for three times the limit. The origin could send, and the edge waits.
    for (let i = 0; i < 3; i++) await silenceOver();
    expect((await edge.status()).transfers.active).toBe(1);
    pieces.push(await take(response, PIECE_BYTES));
  }
  const rest = await readAll(response);
  pieces.push(rest.body);
  expect([rest.complete, sha256(Buffer.concat(pieces))]).toEqual([true, sha256(CONTENT)]);
  await until(async () => (await edge.status()).transfers.active === 0);
});

test('a slow stream of small events is passed on to its end', async () => {
  const events = await fetchAll(of('/events'));
  expect([events.status, events.complete, events.body.length]).toEqual([200, true, DRIPS]);
});

test('the types that a client accepts choose only among answers that are kept for nobody', async () => {
  for (const path of ['/small', '/small', '/varies', '/varies']) {
    const got = await fetchAll(of(path), { headers: { accept: 'image/webp' } });
    expect([got.status, got.digest]).toEqual([200, sha256(SMALL)]);
  }
  // The first answer is that to the question of the edge itself.
  expect(accepted.get('/small')).toEqual([undefined, 'image/webp']);
  expect(accepted.get('/varies')).toEqual([undefined]);
});

test('the first client gets the type that it accepts: the answer to the edge’s own question was another', async () => {
  const headers = { accept: 'application/octet-stream' };
  for (let i = 0; i < 2; i++) {
    expect((await fetchAll(of('/asset'), { headers })).digest).toBe(sha256(SMALL));
  }
  expect((await fetchAll(of('/asset?b'), { headers: { accept: '*/*' } })).body.toString()).toBe(
    '{}',
  );
  expect(accepted.get('/asset')).toEqual([undefined, ...Array(2).fill(headers.accept), undefined]);
});

describe('a HEAD of a file that is passed through', () => {
  const HEADS = 10;
  const heads = async (path: string) => {
    asked.length = 0;
    for (let i = 0; i < HEADS; i++) {
      // With the client's demand, the edge asks anew; the tunnel does so by itself. Range is for GET.
      const headers = { 'cache-control': 'no-cache', range: 'bytes=1-2' };
      const got = await fetchAll(of(path), { method: 'HEAD', headers });
      expect([got.status, got.complete, got.body.length]).toEqual([200, true, 0]);
    }
    return asked;
  };
  const fromOrigins = async () => (await edge.status()).bytes.fromOrigins;

  test('is a HEAD at the origin: a GET made it send megabytes for nobody', async () => {
    await fetchAll(of('/content?heads'), { method: 'HEAD' });
    const before = await fromOrigins();
    expect(await heads('/content?heads')).toEqual(Array(HEADS).fill('HEAD /content'));
    expect(await fromOrigins()).toBe(before);
  });

  test('is a GET if the origin refuses HEAD, and the figures have what it begins to send', async () => {
    await fetchAll(of('/no-head'), { method: 'HEAD' });
    const before = await fromOrigins();
    const both = Array(HEADS).fill(['HEAD /no-head', 'GET /no-head']).flat();
    expect(await heads('/no-head')).toEqual(both);
    expect((await fromOrigins()) - before).toBe(HEADS * 512 * 1024);
  });
});
