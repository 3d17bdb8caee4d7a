import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { describe, expect, jest, test } from '@jest/globals';
import { seededRandom } from '../src/base/clock.ts';
import { MAX_HEAD_WAIT_MS, MAX_INTERIM_ANSWERS } from '../src/base/limits.ts';
import { RangeConnection } from './range-connection.ts';
import { resetConnection } from './reset-connection.ts';
import {
  bytesOf,
  ConnectionStage,
  get,
  gone,
  REQUEST,
  response,
} from './testing/connection-stage.ts';

const stage = new ConnectionStage();

const random = seededRandom(1);
const bytes = (length: number) => bytesOf(random, length);

describe('RangeConnection', () => {
  test.each([
    ['ends', 'origin-reset', (socket: Socket) => socket.end()],
    ['is reset', 'ECONNRESET', (socket: Socket) => resetConnection(socket)],
  ])('a connection that %s in the middle of the body: %s', async (_, code, cut) => {
    const body = bytes(1000);
    const connection = await stage.connect((socket) =>
      socket.write(response(body).subarray(0, -1)),
    );
    await connection.request(REQUEST);
    let counted = 0;
    const reading = connection.readInto(Buffer.alloc(1000), (count) => {
      counted += count;
      if (counted === 999) for (const socket of stage.sockets) cut(socket);
    });
    await expect(reading).rejects.toMatchObject({ code });
    expect(counted).toBe(999);
    expect(connection.reusable).toBe(false);
  });

  test.each([
    ['before', ''],
    ['in the middle of', 'HTTP/1.1 206 OK\r\nConte'],
  ])('a connection that ends %s the head', async (_, sent) => {
    const connection = await stage.connect((socket) => socket.end(sent));
    await expect(connection.request(REQUEST)).rejects.toMatchObject({ code: 'origin-reset' });
  });

  test.each([
    ['Connection: close', response(bytes(5), 'Connection: close')],
    ['HTTP/1.0', Buffer.from('HTTP/1.0 206 OK\r\nContent-Length: 5\r\n\r\nabcde')],
  ])('after %s the connection is not used again', async (_, whole) => {
    const connection = await stage.connect((socket) => socket.write(whole));
    const closed = gone(connection);
    await get(connection, 5);
    expect(connection.reusable).toBe(false);
    await closed;
  });

  test('an idle connection notices that the server closes it', async () => {
    const connection = await stage.connect((socket) => socket.write(response(bytes(5))));
    await get(connection, 5);
    expect(connection.reusable).toBe(true);
    const closed = gone(connection);
    for (const socket of stage.sockets) socket.end();
    await closed;
    expect(connection.reusable).toBe(false);
    await expect(connection.request(REQUEST)).rejects.toThrow();
  });

  test('bytes without a request end an idle connection', async () => {
    const connection = await stage.connect((socket) => socket.write(response(bytes(5))));
    await get(connection, 5);
    const closed = gone(connection);
    for (const socket of stage.sockets) socket.write(response(bytes(5)));
    await closed;
    expect(connection.reusable).toBe(false);
  });

  test('a busy connection refuses a second request and is not harmed by it', async () => {
    const body = bytes(5);
    const connection = await stage.connect((socket) => socket.write(response(body)));
    const first = connection.request(REQUEST);
    await expect(connection.request(REQUEST)).rejects.toThrow('in use');
    await first;
    await expect(connection.request(REQUEST)).rejects.toThrow('in use');
    const into = Buffer.alloc(5);
    await connection.readInto(into, () => {});
    expect(into.equals(body)).toBe(true);
    await expect(connection.readInto(into, () => {})).rejects.toThrow('no body');
  });

  test.each([
    ['does not answer', ''],
    ['stops in the head', 'HTTP/1.1 206 OK\r\n'],
    ['stops in the body', 'HTTP/1.1 206 OK\r\nContent-Length: 5\r\n\r\nabc'],
  ])('a request to a server that %s times out', async (_, sent) => {
    const connection = await stage.connect((socket) => sent !== '' && socket.write(sent), {
      timeoutMs: 50,
    });
    await expect(get(connection, 5)).rejects.toMatchObject({ code: 'origin-timeout' });
  });

  test('destroying a connection fails its request and closes it once', async () => {
    const connection = await stage.connect(() => {});
    let closed = 0;
    const isGone = new Promise<void>((resolve) => {
      connection.onClosed = () => {
        closed++;
        resolve();
      };
    });
    const answer = connection.request(REQUEST);
    connection.destroy();
    connection.destroy();
    await expect(answer).rejects.toMatchObject({ code: 'origin-reset' });
    await isGone;
    expect(closed).toBe(1);
  });
});

describe('dripping bytes', () => {
  /** Sends a few bytes every 5 ms until the socket closes. */
  function drip(socket: Socket, bytes: (at: number) => string | Uint8Array): void {
    let at = 0;
    const timer = setInterval(() => {
      if (socket.destroyed) return clearInterval(timer);
      socket.write(bytes(at++));
    }, 5);
    socket.once('close', () => clearInterval(timer));
  }
  const limits = { timeoutMs: 60_000, headTimeoutMs: 200 };

  test.each<[string, (at: number) => string]>([
    ['a header that never ends', (at) => (at === 0 ? 'HTTP/1.1 200 OK\r\nX: ' : 'a')],
    ['interim answers for ever', () => 'HTTP/1.1 103 Early Hints\r\n\r\n'],
  ])('%s ends the request', async (_what, bytes) => {
    const connection = await stage.connect((socket) => drip(socket, bytes), limits);
    await expect(connection.request(REQUEST)).rejects.toMatchObject({
      code: 'origin-timeout',
      detail: 'no complete header came for a long time',
    });
  });

  test('a node that keeps sending interim answers in time, and no answer, has a bound', async () => {
    const interim = 'HTTP/1.1 102 Processing\r\n\r\n';
    const connection = await stage.connect((socket) => {
      socket.write(interim.repeat(MAX_INTERIM_ANSWERS + 1));
    });
    let told = 0;
    const asked = connection.request(REQUEST, () => told++);
    await expect(asked).rejects.toMatchObject({ code: 'malformed-response' });
    expect(told).toBe(MAX_INTERIM_ANSWERS);
  });

  test('a node that sends interim answers for ten minutes is given up by default', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'performance'] });
    try {
      const connection = await stage.connect(
        (socket) => socket.write('HTTP/1.1 102 Processing\r\n\r\n'),
        { timeoutMs: 60_000_000 },
      );
      const { promise: told, resolve: tell } = Promise.withResolvers<void>();
      const asked = connection.request(REQUEST, () => tell());
      const failed = expect(asked).rejects.toMatchObject({ code: 'origin-timeout' });
      await told;
      jest.advanceTimersByTime(MAX_HEAD_WAIT_MS);
      await failed;
    } finally {
      jest.useRealTimers();
    }
  });
  test('a TLS handshake that never ends', async () => {
    // Sends a record with a long handshake message byte by byte.
    const record = Buffer.alloc(16 * 1024);
    record.set([0x16, 0x03, 0x03, 0x3f, 0xfb, 0x02, 0x00, 0x3f, 0xf7]);
    const server = createServer({ noDelay: true }, (socket) => {
      socket.on('error', () => {}).resume();
      drip(socket, (at) => record.subarray(at, at + 1));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const connection = new RangeConnection(new URL(`https://127.0.0.1:${port}/`), {
      timeoutMs: 60_000,
      connectTimeoutMs: 200,
    });
    try {
      await expect(connection.request(REQUEST)).rejects.toMatchObject({
        code: 'origin-timeout',
        detail: 'no connection was made for a long time',
      });
    } finally {
      connection.destroy();
      await once(server.close(), 'close');
    }
  });
});
