import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { MillraceError } from '../src/base/errors.ts';
import { RangeClient, type Way } from './range-client.ts';
import { AnsweringServer } from './testing/answering-server.ts';

const forEver = new AbortController().signal;
const BODY = Buffer.from(Array.from({ length: 700_000 }, (_, i) => (i * 31) ^ (i >> 8)));
const ORIGIN = new URL('http://origin.test/f?x=1');

const servers: AnsweringServer[] = [];
const clients: RangeClient[] = [];
afterEach(async () => {
  for (const made of clients.splice(0)) made.close();
  await Promise.all(servers.splice(0).map((server) => server.end()));
});

/** Starts a server that stands for proxy and origin; `heads` gets the requests. */
async function serve(heads: string[] = []): Promise<number> {
  const server = await AnsweringServer.start((socket) => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${BODY.length}\r\n\r\n`);
    socket.write(BODY);
  }, heads);
  servers.push(server);
  return server.port;
}

async function opened(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

function client(way: Partial<Way>, connections = 1): RangeClient {
  const limits = { connections, timeoutMs: 10_000, connectTimeoutMs: 10_000 };
  const whole = { open: () => Promise.reject(new Error('unused')), isForwarded: () => false };
  const made = new RangeClient({ ...limits, way: { ...whole, ...way } });
  clients.push(made);
  return made;
}

/** Reads a body through a receiver that is not ready after every third piece. */
async function get(from: RangeClient): Promise<Buffer> {
  const response = await from.open(ORIGIN, {}, forEver);
  const pieces: Buffer[] = [];
  let ready = true;
  await response.pipe((piece, resume) => {
    expect(ready).toBe(true);
    pieces.push(Buffer.from(piece));
    if (pieces.length % 3 !== 0) return true;
    ready = false;
    setImmediate(() => {
      ready = true;
      resume();
    });
    return false;
  });
  return Buffer.concat(pieces);
}

describe('a way that leads through another server', () => {
  test('opens a connection for several requests, whose bodies wait for their receivers', async () => {
    const heads: string[] = [];
    const port = await serve(heads);
    let opens = 0;
    const from = client({
      open: () => {
        opens++;
        return opened(port);
      },
    });
    for (let i = 0; i < 3; i++) expect(BODY.equals(await get(from))).toBe(true);
    expect(opens).toBe(1);
    expect(heads[0]).toBe('GET /f?x=1 HTTP/1.1\r\nHost: origin.test\r\n\r\n');
  });

  test('that forwards requests gets the whole URL', async () => {
    const heads: string[] = [];
    const port = await serve(heads);
    await get(client({ open: () => opened(port), isForwarded: () => true }));
    expect(heads[0]).toMatch(/^GET http:\/\/origin\.test\/f\?x=1 HTTP\/1\.1\r\nHost: origin\.test/);
  });

  test('counts connections while they are being opened', async () => {
    const port = await serve();
    let opening = 0;
    let most = 0;
    const from = client(
      {
        open: async () => {
          most = Math.max(most, ++opening);
          const socket = await opened(port);
          opening--;
          return socket;
        },
      },
      2,
    );
    const bodies = await Promise.all(Array.from({ length: 6 }, () => get(from)));
    expect(bodies.every((body) => BODY.equals(body))).toBe(true);
    expect(most).toBe(2);
  });

  test('that fails for one request is tried by the next one that waits', async () => {
    const port = await serve();
    let opens = 0;
    const from = client({
      open: () =>
        ++opens === 1 ? Promise.reject(new MillraceError('proxy-failed')) : opened(port),
    });
    const [first, second] = await Promise.allSettled([get(from), get(from)]);
    expect(first).toMatchObject({ status: 'rejected', reason: { code: 'proxy-failed' } });
    expect(second?.status).toBe('fulfilled');
  });

  test('that closes its connection at once is a broken connection', async () => {
    const port = await serve();
    const from = client({
      open: async () => {
        const socket = await opened(port);
        socket.destroy();
        return socket;
      },
    });
    await expect(get(from)).rejects.toMatchObject({ code: 'origin-reset' });
  });
});
