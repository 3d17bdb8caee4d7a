import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { HttpClient, type HttpStream } from './http-client.ts';
import { resetConnection } from './reset-connection.ts';

const forEver = new AbortController().signal;
const OK = 'HTTP/1.1 200 OK\r\n';
const HELLO = `${OK}Content-Length: 5\r\nETag: "a"\r\n\r\nhello`;

const servers: Server[] = [];
const clients: HttpClient[] = [];
const sockets = new Set<Socket>();

afterEach(async () => {
  jest.restoreAllMocks();
  for (const client of clients.splice(0)) client.close();
  for (const socket of sockets) socket.destroy();
  await Promise.all(servers.splice(0).map((server) => once(server.close(), 'close')));
});

interface Served {
  readonly url: URL;
  readonly heads: string[];
  connections: number;
}

/** A server that calls `answer` for each request. */
async function serve(answer: (socket: Socket, all: number) => void): Promise<Served> {
  const server = createServer({ noDelay: true, allowHalfOpen: true }, (socket) => {
    served.connections++;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
    socket.on('end', () => socket.end());
    let head = '';
    socket.on('data', (data) => {
      head += data.toString('latin1');
      if (!head.endsWith('\r\n\r\n')) return;
      served.heads.push(head);
      head = '';
      answer(socket, served.heads.length - 1);
    });
  });
  servers.push(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const served: Served = {
    url: new URL(`http://127.0.0.1:${port}/f?x=1`),
    heads: [],
    connections: 0,
  };
  return served;
}

function client(timeoutMs = 10_000): HttpClient {
  const limits = { timeoutMs, connectTimeoutMs: 10_000, headTimeoutMs: timeoutMs };
  const made = new HttpClient({ connections: 1, ...limits });
  clients.push(made);
  return made;
}

async function read(response: HttpStream): Promise<Buffer> {
  const pieces: Buffer[] = [];
  await response.pipe((piece) => {
    pieces.push(Buffer.from(piece));
    return true;
  });
  return Buffer.concat(pieces);
}

const text = async (from: HttpClient, { url }: Served) =>
  (await read(await from.get(url, {}, forEver))).toString('latin1');

const settle = () => new Promise((resolve) => setImmediate(resolve));
/** Ways to delimit a body: name, answer, body, and whether the connection is kept alive. */
const FRAMINGS: [string, string, string, boolean][] = [
  ['a length', `${OK}Content-Length: 11\r\n\r\nhello world`, 'hello world', true],
  [
    'chunks',
    `${OK}Transfer-Encoding: chunked\r\n\r\n6;x=y\r\nhello \r\n5\r\nworld\r\n0\r\nX: y\r\n\r\n`,
    'hello world',
    true,
  ],
  ['no body', 'HTTP/1.1 204 No Content\r\n\r\n', '', true],
  ['no bytes', `${OK}Content-Length: 0\r\n\r\n`, '', true],
  ['Connection: close', `${OK}Content-Length: 2\r\nConnection: close\r\n\r\nab`, 'ab', false],
  ['HTTP/1.0', 'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nab', 'ab', false],
];

describe('HttpClient', () => {
  test('returns the header before the body, with the URL and times of the request', async () => {
    const clock = jest.spyOn(Date, 'now').mockReturnValue(1000);
    const served = await serve((socket) => {
      clock.mockReturnValue(1070);
      socket.write(HELLO);
    });
    const response = await client().get(served.url, { range: 'bytes=0-4' }, forEver);
    expect([response.status, response.headers.etag]).toEqual([200, '"a"']);
    expect(response.url).toBe(served.url);
    expect([response.requestedAt, response.arrivedAt]).toEqual([1000, 1070]);
    const { host } = served.url;
    expect(served.heads).toEqual([
      `GET /f?x=1 HTTP/1.1\r\nHost: ${host}\r\nrange: bytes=0-4\r\n\r\n`,
    ]);
    expect((await read(response)).toString()).toBe('hello');
  });

  test.each(FRAMINGS)('a body with %s is read the same wherever it is cut', async (...row) => {
    const [, whole, body, keepAlive] = row;
    const cuts = whole.length;
    const served = await serve((socket, all) => {
      socket.write(whole.slice(0, all), 'latin1', () =>
        setImmediate(() => socket.write(whole.slice(all), 'latin1')),
      );
    });
    const from = client();
    for (let cut = 0; cut < cuts; cut++) expect(await text(from, served)).toBe(body);
    expect(served.connections).toBe(keepAlive ? 1 : cuts);
  });

  test('a body without a length or chunks is complete when its connection ends', async () => {
    const served = await serve((socket) => socket.end(`${OK}\r\nhello world`));
    expect(await text(client(), served)).toBe('hello world');
    const empty = await serve((socket) => socket.end(`${OK}\r\n`));
    expect(await text(client(), empty)).toBe('');
  });

  test.each([
    ['length', `Content-Length: 6\r\n\r\nhello`],
    ['chunks', `Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`],
    ['a chunk', `Transfer-Encoding: chunked\r\n\r\n6\r\nhello`],
  ])('a body that ends before its %s is broken', async (_, rest) => {
    const served = await serve((socket) => socket.end(OK + rest));
    await expect(text(client(), served)).rejects.toMatchObject({ code: 'origin-reset' });
  });

  test('a reset breaks every kind of body', async () => {
    for (const fields of ['', 'Content-Length: 9\r\n', 'Transfer-Encoding: chunked\r\n']) {
      const served = await serve((socket) => void socket.write(`${OK}${fields}\r\n1\r\na`));
      const response = await client().get(served.url, {}, forEver);
      for (const socket of sockets) resetConnection(socket);
      await expect(read(response)).rejects.toMatchObject({ code: 'origin-reset' });
    }
  });

  test.each([
    ['an unknown coding', 'Transfer-Encoding: gzip, chunked\r\n\r\n'],
    ['malformed chunks', 'Transfer-Encoding: chunked\r\n\r\nhello\r\n'],
  ])('%s is refused, and the connection closed', async (_, rest) => {
    const served = await serve((socket) => socket.write(OK + rest));
    const from = client();
    await expect(text(from, served)).rejects.toMatchObject({ code: 'malformed-response' });
    while (sockets.size > 0) await settle();
  });

  test.each([
    ['two lengths', `${OK}Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef`],
    [
      'a length and chunks',
      `${OK}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    ['no HTTP', 'hello\r\n\r\n'],
    ['a header without end', `${OK}X: ${'x'.repeat(100_000)}`],
  ])('%s: the answer is refused before any of it is used', async (_, answer) => {
    const served = await serve((socket) => socket.write(answer));
    const got = client().get(served.url, {}, forEver);
    await expect(got).rejects.toMatchObject({ code: 'malformed-response' });
  });

  test.each([
    ['a length', `${OK}Content-Length: 4\r\n\r\ngood`],
    ['chunks', `${OK}Transfer-Encoding: chunked\r\n\r\n4\r\ngood\r\n0\r\n\r\n`],
  ])('an answer smuggled in after %s answers no request', async (_, good) => {
    const evil = `${OK}Content-Length: 4\r\n\r\nevil`;
    const served = await serve((socket) => socket.write(good + evil));
    const from = client();
    for (let i = 0; i < 3; i++) expect(await text(from, served)).toBe('good');
    expect(served.connections).toBe(3);
  });

  test('interim answers are skipped, but not for ever', async () => {
    const hints = 'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n';
    const served = await serve((socket) => socket.write(hints + hints + HELLO));
    expect(await text(client(), served)).toBe('hello');
    const endless = await serve((socket) => {
      const more = () => socket.destroyed || socket.write(hints, () => setImmediate(more));
      more();
    });
    const got = client(50).get(endless.url, {}, forEver);
    await expect(got).rejects.toMatchObject({ code: 'origin-timeout' });
  });

  test.each([
    ['does not answer', ''],
    ['stops in the header', OK],
    ['stops in the body', `${OK}Content-Length: 5\r\n\r\nhell`],
  ])('a request to a server that %s times out', async (_, sent) => {
    const served = await serve((socket) => sent !== '' && socket.write(sent));
    await expect(text(client(50), served)).rejects.toMatchObject({ code: 'origin-timeout' });
  });

  test('a body is held back without a time limit while its receiver is not ready', async () => {
    const body = Buffer.alloc(3_000_000);
    for (let i = 0; i < body.length; i++) body[i] = (i * 31) ^ (i >> 8);
    const served = await serve((socket) => {
      socket.write(`${OK}Content-Length: ${body.length}\r\n\r\n`);
      socket.write(body);
    });
    // Long enough for the beginning of a response on a busy machine.
    const timeoutMs = 1000;
    const response = await client(timeoutMs).get(served.url, {}, forEver);
    const silent = await serve(() => {});
    // Wait until a request that begins now times out: the first request would time out as well if
    // its time counted.
    const untilTimeout = () => expect(text(client(timeoutMs), silent)).rejects.toThrow();
    const pieces: Buffer[] = [];
    let ready = true;
    let early = 0;
    await response.pipe((piece, resume) => {
      if (!ready) early++;
      ready = false;
      pieces.push(Buffer.from(piece));
      // Be slower than the timeout once: the time must not count while we are the slow side.
      void (pieces.length === 1 ? untilTimeout() : settle()).then(() => {
        ready = true;
        resume();
      });
      return false;
    });
    expect(early).toBe(0);
    expect(Buffer.concat(pieces).equals(body)).toBe(true);
  });

  test('a body, and nothing else, is read straight into the given memory', async () => {
    const body = Buffer.alloc(3_000_000);
    for (let i = 0; i < body.length; i++) body[i] = (i * 31) ^ (i >> 8);
    const served = await serve((socket, all) => {
      const first = all === 0 ? body : body.subarray(7);
      socket.write(`${OK}Content-Length: ${first.length}\r\n\r\n`);
      socket.write(first);
    });
    const from = client();
    const into = async (memory: Buffer) => {
      let filled = 0;
      let copied = 0;
      const response = await from.get(served.url, {}, forEver);
      await response.pipe(
        (piece, resume) => {
          const there = piece.buffer === memory.buffer && piece.byteOffset === filled;
          if (!there) copied += piece.copy(memory, filled);
          filled += piece.length;
          if (filled % 2 === 0) return true;
          setImmediate(resume);
          return false;
        },
        () => memory.subarray(filled, filled + 100_000),
      );
      return { filled, copied };
    };
    const [first, second] = [0, 1].map(() => Buffer.from(new ArrayBuffer(body.length + 100_000)));
    const { filled, copied } = await into(first as Buffer);
    expect(filled).toBe(body.length);
    // Only the bytes that come with the header, and those of the next prepared read, are copied.
    expect(copied).toBeLessThan(200_000);
    await into(second as Buffer);
    expect(served.connections).toBe(1);
    expect(first?.subarray(0, body.length).equals(body)).toBe(true);
    expect(second?.subarray(0, body.length - 7).equals(body.subarray(7))).toBe(true);
  });

  test('a chunked body is not read straight into the given memory', async () => {
    const served = await serve((socket) =>
      socket.write(`${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`),
    );
    const response = await client().get(served.url, {}, forEver);
    const room = Buffer.alloc(100);
    let text = '';
    await response.pipe(
      (piece) => {
        text += piece.toString('latin1');
        return true;
      },
      () => room,
    );
    expect(text).toBe('hello');
    expect(room.equals(Buffer.alloc(100))).toBe(true);
  });

  test('successive requests use one connection, and a closed connection is replaced', async () => {
    const served = await serve((socket, all) => {
      if (all === 2) resetConnection(socket);
      else socket.write(HELLO);
    });
    const from = client();
    for (let i = 0; i < 3; i++) expect(await text(from, served)).toBe('hello');
    expect([served.connections, served.heads.length]).toEqual([2, 4]);
  });

  test('an error that the receiver throws ends the exchange', async () => {
    const served = await serve((socket) => socket.write(HELLO));
    const response = await client().get(served.url, {}, forEver);
    const reading = response.pipe(() => {
      throw new Error('no room');
    });
    await expect(reading).rejects.toThrow('no room');
    while (sockets.size > 0) await settle();
  });

  test('a body can be discarded before and while it is read', async () => {
    const served = await serve((socket) => socket.write(`${OK}Content-Length: 9\r\n\r\nabc`));
    const from = client();
    (await from.get(served.url, {}, forEver)).discard();
    const response = await from.get(served.url, {}, forEver);
    const reading = response.pipe(() => {
      response.discard();
      return true;
    });
    await expect(reading).rejects.toMatchObject({ code: 'origin-reset' });
    while (sockets.size > 0) await settle();
    expect(served.connections).toBe(2);
  });

  test.each(['', OK, `${OK}Content-Length: 9\r\n\r\nabc`])(
    'the signal ends an exchange that has received %j',
    async (sent) => {
      const abort = new AbortController();
      const served = await serve((socket) => {
        if (sent !== '') socket.write(sent);
        setImmediate(() => abort.abort(new Error('enough')));
      });
      const from = client();
      const got = from.get(served.url, {}, abort.signal).then(read);
      await expect(got).rejects.toThrow('enough');
      while (sockets.size > 0) await settle();
      await expect(from.get(served.url, {}, abort.signal)).rejects.toThrow('enough');
    },
  );

  test('a server that does not exist is reported as unreachable', async () => {
    const served = await serve(() => {});
    servers.pop()?.close();
    const got = client().get(served.url, {}, forEver);
    await expect(got).rejects.toMatchObject({ code: 'origin-unreachable' });
  });

  test.each([
    ['bad value', { range: 'a\r\nEvil: 1' }],
    ['bad name', { 'Evil: 1\r\nX': 'y' }],
    ['body to announce', { 'Content-Length': '5' }],
    ['coding to announce', { 'transfer-encoding': 'chunked' }],
  ])('a header field with a %s is not sent', async (_, headers) => {
    const served = await serve((socket) => socket.write(HELLO));
    await expect(client().get(served.url, headers, forEver)).rejects.toMatchObject({
      code: 'bad-option',
    });
    expect(served.heads).toEqual([]);
  });

  test('a Host of the caller replaces that of the URL', async () => {
    const served = await serve((socket) => socket.write(HELLO));
    const own = await client().get(served.url, { Host: 'example.com' }, forEver);
    expect((await read(own)).toString()).toBe('hello');
    expect(served.heads[0]).toMatch(/^host: example\.com\r$/im);
    expect(served.heads[0]?.match(/^host:/gim)).toHaveLength(1);
  });
});
