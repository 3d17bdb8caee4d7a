import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { describe, expect, jest, test } from '@jest/globals';
import { seededRandom } from '../src/base/clock.ts';
import { MAX_HEAD_WAIT_MS, MAX_INTERIM_ANSWERS } from '../src/base/limits.ts';
import { RangeConnection } from './range-connection.ts';
import { resetConnection } from './reset-connection.ts';
import { ConnectionStage, get, REQUEST, response } from './testing/connection-stage.ts';

const stage = new ConnectionStage();

const random = seededRandom(1);
function bytes(length: number): Buffer {
  const made = Buffer.alloc(length);
  for (let i = 0; i < length; i++) made[i] = random() * 256;
  return made;
}

/** Sends the data in pieces that end at the given positions, usually one packet each. */
async function sendCut(socket: Socket, data: Buffer, cuts: readonly number[]): Promise<void> {
  let at = 0;
  for (const end of [...cuts, data.length]) {
    if (end > at && !socket.destroyed) {
      await new Promise((resolve) => socket.write(data.subarray(at, end), resolve));
      await new Promise((resolve) => setImmediate(resolve));
    }
    at = Math.max(at, end);
  }
}

/** Resolves when the connection has closed. */
const gone = (connection: RangeConnection) =>
  new Promise<void>((resolve) => {
    connection.onClosed = resolve;
  });

describe('RangeConnection', () => {
  test('an empty body is read without waiting for more bytes', async () => {
    const connection = await stage.connect((socket) => socket.write(response(bytes(0))));
    await connection.request(REQUEST);
    await connection.readInto(Buffer.alloc(0), () => {});
    expect(connection.reusable).toBe(true);
  });

  test('an answer is read the same wherever it is cut in two', async () => {
    const body = bytes(60);
    const whole = response(body, 'ETag: "a"');
    const connection = await stage.connect((socket, nth) => void sendCut(socket, whole, [nth]));
    for (let cut = 0; cut < whole.length; cut++) {
      expect((await get(connection, body.length)).equals(body)).toBe(true);
    }
  });

  test('an answer is read the same in any pieces, down to single bytes', async () => {
    const body = bytes(3000);
    const whole = response(body);
    const connection = await stage.connect((socket, nth) => {
      const pieces = nth === 0 ? whole.length : Math.ceil(random() * 20);
      const step = whole.length / pieces;
      void sendCut(
        socket,
        whole,
        Array.from({ length: pieces }, (_, i) => Math.ceil(i * step)),
      );
    });
    for (let i = 0; i < 10; i++) expect((await get(connection, 3000)).equals(body)).toBe(true);
  });

  test('a head is read right from memory that was handed out before the last answer ended', async () => {
    // Each answer comes whole in one packet: its body is copied out of the head's memory, and the
    // kernel already holds the rest of that memory for the next bytes.
    const bodies = Array.from({ length: 8 }, (_, i) => bytes(20 + 37 * i));
    const connection = await stage.connect((socket, nth) => {
      const pad = nth % 2 === 0 ? [] : [`X-Pad: ${'p'.repeat(200)}`];
      socket.write(response(bodies[nth] as Buffer, `X-Nth: ${nth}`, ...pad));
    });
    for (const [nth, body] of bodies.entries()) {
      const { headers } = await connection.request(REQUEST);
      expect(headers['x-nth']).toBe(String(nth));
      const into = Buffer.alloc(body.length);
      await connection.readInto(into, () => {});
      expect(into.equals(body)).toBe(true);
    }
  });

  test('interim responses are reported one by one, however they are cut, before the answer', async () => {
    const interim = [1, 2, 3].map((n) => `HTTP/1.1 102 Processing\r\nProgress: ${n}\r\n\r\n`);
    const whole = `${interim.join('')}HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody`;
    const random = seededRandom(7);
    for (let i = 0; i < 20; i++) {
      const cut = Math.floor(random() * whole.length);
      const connection = await stage.connect((socket) => {
        socket.write(whole.slice(0, cut));
        setImmediate(() => socket.write(whole.slice(cut)));
      });
      const told: unknown[] = [];
      const head = await connection.request('GET / HTTP/1.1\r\n\r\n', ({ status, headers }) =>
        told.push([status, headers.progress]),
      );
      expect(told).toEqual([1, 2, 3].map((n) => [102, String(n)]));
      expect(head.status).toBe(200);
      const body = Buffer.alloc(4);
      await connection.readInto(body, () => {});
      expect(body.toString()).toBe('body');
    }
  });

  test('a body larger than any buffer is read to the last byte', async () => {
    const body = bytes(3_000_000);
    const connection = await stage.connect((socket) => socket.write(response(body)));
    expect((await get(connection, body.length)).equals(body)).toBe(true);
    expect((await get(connection, body.length)).equals(body)).toBe(true);
  });

  test('the body is held back until the caller chooses its target', async () => {
    const body = bytes(100_000);
    const connection = await stage.connect((socket) => socket.write(response(body)));
    const { status, framing } = await connection.request(REQUEST);
    expect([status, framing]).toEqual([206, { kind: 'length', bytes: 100_000 }]);
    for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
    expect(connection.reusable).toBe(false);
    const into = Buffer.alloc(100_000);
    await connection.readInto(into, () => {});
    expect(into.equals(body)).toBe(true);
    expect(connection.reusable).toBe(true);
  });

  test.each([
    ['in one packet with the answer', []],
    ['in a packet each', [30, 60, 90]],
  ])('interim answers %s are skipped', async (_, cuts) => {
    const body = bytes(10);
    const interim = 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: </x>\r\n\r\n';
    const whole = Buffer.concat([Buffer.from(interim), response(body)]);
    const connection = await stage.connect((socket) => void sendCut(socket, whole, cuts));
    expect((await get(connection, 10)).equals(body)).toBe(true);
    expect((await get(connection, 10)).equals(body)).toBe(true);
  });

  test('surplus bytes in the same packet are refused', async () => {
    const whole = Buffer.concat([response(bytes(10)), Buffer.from('x')]);
    const connection = await stage.connect((socket) => socket.write(whole));
    await expect(get(connection, 10)).rejects.toMatchObject({ code: 'wrong-length' });
    expect(connection.reusable).toBe(false);
  });

  test('surplus bytes that come later end the connection', async () => {
    const body = bytes(10);
    const connection = await stage.connect((socket) => {
      void sendCut(socket, Buffer.concat([response(body), Buffer.from('surplus')]), [50, 52]);
    });
    const closed = gone(connection);
    // The announced bytes are right; no request may follow the surplus bytes.
    await get(connection, 10).catch((error) => expect(error.code).toBe('wrong-length'));
    await closed;
    expect(connection.reusable).toBe(false);
  });

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
    ['not HTTP', 'SSH-2.0-OpenSSH\r\n\r\n'],
    ['two lengths', 'HTTP/1.1 206 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n'],
    ['a head without end', `HTTP/1.1 206 OK\r\n${`X: ${'x'.repeat(100)}\r\n`.repeat(700)}`],
    ['a line without end', 'x'.repeat(40_000)],
  ])('%s is refused, and the connection closed', async (_, sent) => {
    const connection = await stage.connect((socket) => socket.write(sent));
    const closed = gone(connection);
    await expect(connection.request(REQUEST)).rejects.toMatchObject({
      code: 'malformed-response',
    });
    await closed;
  });

  test('a long head is read', async () => {
    const body = bytes(10);
    const whole = response(body, `X: ${'x'.repeat(31_000)}`);
    const connection = await stage.connect(
      (socket) => void sendCut(socket, whole, [20_000, 31_000]),
    );
    expect((await get(connection, 10)).equals(body)).toBe(true);
    expect((await get(connection, 10)).equals(body)).toBe(true);
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

  test('a body of another length than expected is refused before it is read', async () => {
    const connection = await stage.connect((socket) => socket.write(response(bytes(5))));
    await expect(get(connection, 6)).rejects.toMatchObject({ code: 'wrong-length' });
    expect(connection.reusable).toBe(false);
  });

  test.each([
    ['chunked', 'Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n', 'other', false],
    ['without length', 'X: y\r\n\r\nabc', 'other', false],
    ['of no bytes', 'Content-Length: 0\r\n\r\n', 'length', true],
    ['of no bytes with some behind it', 'Content-Length: 0\r\n\r\nabc', 'length', false],
    ['of some bytes', 'Content-Length: 3\r\n\r\nabc', 'length', false],
  ])('a body %s can be discarded', async (_, rest, kind, reusable) => {
    const connection = await stage.connect((socket) => socket.write(`HTTP/1.1 206 OK\r\n${rest}`));
    expect((await connection.request(REQUEST)).framing.kind).toBe(kind);
    if (kind === 'other')
      await expect(connection.readInto(Buffer.alloc(3), () => {})).rejects.toThrow();
    connection.discard();
    expect(connection.reusable).toBe(reusable);
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
