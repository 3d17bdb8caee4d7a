import { once } from 'node:events';
import { createServer as createServer1, request } from 'node:http';
import { connect, createServer as createServer2 } from 'node:http2';
import type { AddressInfo, Server } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { STREAM_BYTES } from '../memory/process-weights.ts';
import { RequestWeights } from './request-weights.ts';

const STREAMS = 50;
const FIELD_CHARS = 8000;
const ends: (() => void)[] = [];

afterEach(() => {
  for (const end of ends.splice(0).reverse()) end();
});

/** Weighs the requests of a server, which are never answered. */
async function weigh(server: Server): Promise<{ weights: RequestWeights; port: number }> {
  const weights = new RequestWeights();
  weights.watch(server as unknown as Parameters<RequestWeights['watch']>[0]);
  ends.push(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { weights, port: (server.address() as AddressInfo).port };
}

/** Resolves once `count` requests have arrived. */
function arrived(server: Server, count: number): Promise<void> {
  return new Promise((resolve) => {
    let left = count;
    server.on('request', () => --left === 0 && resolve());
  });
}

describe('weights of requests under way', () => {
  test('streams of HTTP/2 whose fields are large are not weighed as nothing', async () => {
    const server = createServer2();
    const { weights, port } = await weigh(server);
    const session = connect(`http://127.0.0.1:${port}`);
    ends.push(() => session.destroy());
    const all = arrived(server, STREAMS);
    const streams = Array.from({ length: STREAMS }, (_, i) =>
      session
        .request({ ':path': `/${i}`, 'x-fill': `${i}`.padEnd(FIELD_CHARS, 'x') })
        .on('error', () => {}),
    );
    await all;
    expect(weights.bytes).toBeGreaterThan(STREAMS * (STREAM_BYTES + FIELD_CHARS));
    expect(weights.bytes).toBeLessThan(STREAMS * (STREAM_BYTES + 2 * FIELD_CHARS));
    const closed = streams.map((stream) => once(stream, 'close'));
    for (const stream of streams) stream.close(8);
    await Promise.all(closed);
    while (weights.bytes > 0) await new Promise((resolve) => setImmediate(resolve));
    expect(weights.bytes).toBe(0);
  });

  test('fields and targets of HTTP/1.1 are weighed until the response has ended', async () => {
    const server = createServer1();
    const { weights, port } = await weigh(server);
    const path = `/?${'q'.repeat(FIELD_CHARS)}`;
    const headers = { 'x-fill': 'x'.repeat(FIELD_CHARS) };
    const asked = once(server, 'request');
    const client = request({ port, host: '127.0.0.1', path, headers, agent: false });
    client.on('error', () => {}).end();
    const [, res] = await asked;
    expect(weights.bytes).toBeGreaterThan(2 * FIELD_CHARS);
    expect(weights.bytes).toBeLessThan(2 * FIELD_CHARS + 2000);
    const closed = once(res, 'close');
    client.destroy();
    await closed;
    expect(weights.bytes).toBe(0);
  });
});
