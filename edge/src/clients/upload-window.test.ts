import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import {
  type ClientHttp2Session,
  connect,
  createServer,
  type Http2ServerResponse,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { WIDE_BYTES, wideBytes, widenWindow } from './upload-window.ts';

/** Bytes that a server which reads nothing takes with a wide window, and not with the usual one. */
const AHEAD = 900_000;

/** Requests that are read once they are let go. */
let held: (() => Promise<void>)[] = [];
const server = createServer((req, res: Http2ServerResponse) => {
  const narrow = req.url === '/upload' ? widenWindow(res as unknown as ServerResponse) : () => {};
  held.push(async () => {
    let bytes = 0;
    try {
      for await (const piece of req) bytes += (piece as Buffer).length;
    } finally {
      narrow();
      narrow();
    }
    res.end(String(bytes));
  });
});
let client: ClientHttp2Session;

beforeEach(async () => {
  held = [];
  await once(server.listen(0, '127.0.0.1'), 'listening');
  client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  await once(client, 'remoteSettings');
});

afterEach(async () => {
  client.destroy();
  server.close();
  await once(server, 'close');
});

/** Begins a request, and waits until the server has it. */
async function begin(path: string) {
  const req = client.request({ ':path': path, ':method': 'POST' });
  const before = held.length;
  req.write('x');
  while (held.length === before) await once(server, 'request');
  return req;
}

/** Lets the server read. @returns the number of bytes that it has read */
async function ended(req: ReturnType<ClientHttp2Session['request']>): Promise<number> {
  req.end();
  void held.pop()?.();
  let text = '';
  for await (const piece of req) text += piece;
  return Number(text);
}

const sent = (req: ReturnType<ClientHttp2Session['request']>, bytes: number) =>
  new Promise<void>((resolve) => void req.write(Buffer.alloc(bytes, 1), () => resolve()));

test('a client of an upload sends far ahead of the server, others do not, and all bytes come', async () => {
  const other = await begin('/other');
  expect(client.remoteSettings.initialWindowSize).toBe(65_535);
  void sent(other, AHEAD);
  expect(await ended(other)).toBe(AHEAD + 1);
  expect(wideBytes()).toBe(0);
  const told = once(client, 'remoteSettings');
  const upload = await begin('/upload');
  expect(wideBytes()).toBe(WIDE_BYTES);
  await told;
  expect(client.remoteSettings.initialWindowSize).toBe(WIDE_BYTES);
  // The server reads nothing before.
  await sent(upload, AHEAD);
  expect(await ended(upload)).toBe(AHEAD + 1);
  expect(wideBytes()).toBe(0);
});

test('one upload after the other, and two at a time, end on one connection', async () => {
  for (let i = 0; i < 3; i++) {
    const upload = await begin('/upload');
    void sent(upload, 3 * WIDE_BYTES);
    expect(await ended(upload)).toBe(3 * WIDE_BYTES + 1);
    const other = await begin('/other');
    void sent(other, WIDE_BYTES);
    expect(await ended(other)).toBe(WIDE_BYTES + 1);
  }
  const both = [await begin('/upload'), await begin('/upload')];
  expect(wideBytes()).toBe(WIDE_BYTES);
  for (const one of both) void sent(one, 2 * WIDE_BYTES);
  for (const one of both) one.end();
  for (const go of held.splice(0)) void go();
  for (const one of both) {
    let text = '';
    for await (const piece of one) text += piece;
    expect(text).toBe(String(2 * WIDE_BYTES + 1));
  }
  expect(wideBytes()).toBe(0);
});

test('a connection that ends leaves no weight', async () => {
  const upload = await begin('/upload');
  upload.on('error', () => {});
  const reading = held.pop();
  client.destroy();
  await expect(reading?.()).rejects.toThrow();
  expect(wideBytes()).toBe(0);
});
