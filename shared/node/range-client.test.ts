import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { MillraceError } from '../src/base/errors.ts';
import { RangeClient } from './range-client.ts';
import { resetConnection } from './reset-connection.ts';

const BODY = Buffer.from('0123456789');
const ANSWER = `HTTP/1.1 206 OK\r\nContent-Length: 10\r\n\r\n${BODY}`;
const forEver = new AbortController().signal;

const servers: Server[] = [];
const clients: RangeClient[] = [];

/** The requests and connections that a server has seen. */
interface Seen {
  readonly url: URL;
  readonly heads: string[];
  readonly sockets: Set<Socket>;
  connections: number;
  mostAtOnce: number;
}

/** Starts a server. @param answer gets the number of the request on its connection, and overall */
async function serve(answer: (socket: Socket, nth: number, all: number) => void): Promise<Seen> {
  const server = createServer({ noDelay: true });
  servers.push(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const url = new URL(`http://127.0.0.1:${port}/f?x=1`);
  const seen: Seen = { url, heads: [], sockets: new Set(), connections: 0, mostAtOnce: 0 };
  server.on('connection', (socket: Socket) => {
    seen.connections++;
    seen.sockets.add(socket);
    seen.mostAtOnce = Math.max(seen.mostAtOnce, seen.sockets.size);
    socket.on('close', () => seen.sockets.delete(socket));
    socket.on('error', () => {});
    let nth = 0;
    let head = '';
    socket.on('data', (data) => {
      head += data.toString('latin1');
      if (!head.endsWith('\r\n\r\n')) return;
      seen.heads.push(head);
      head = '';
      answer(socket, nth++, seen.heads.length - 1);
    });
  });
  return seen;
}

const keepOpen = () => serve((socket) => socket.write(ANSWER));

function client(connections = 1): RangeClient {
  const made = new RangeClient({ connections, timeoutMs: 10_000, connectTimeoutMs: 10_000 });
  clients.push(made);
  return made;
}

async function get(from: RangeClient, { url }: Seen, signal = forEver): Promise<string> {
  const response = await from.open(url, {}, signal);
  const into = Buffer.alloc(10);
  await response.readInto(into, () => {});
  return into.toString();
}

/** Resolves when the server has received `count` requests. */
async function requests({ heads }: Seen, count: number): Promise<void> {
  while (heads.length < count) await new Promise((resolve) => setImmediate(resolve));
}

afterEach(async () => {
  for (const made of clients.splice(0)) made.close();
  for (const server of servers.splice(0)) {
    server.close();
    server.removeAllListeners('connection');
  }
});

describe('RangeClient', () => {
  test('sends the given fields and a Host, and no other fields', async () => {
    const seen = await keepOpen();
    const headers = { range: 'bytes=0-9', 'if-match': '"\xfc"' };
    const response = await client().open(seen.url, headers, forEver);
    expect([response.status, response.plain]).toEqual([206, true]);
    expect(seen.heads).toEqual([
      `GET /f?x=1 HTTP/1.1\r\nHost: ${seen.url.host}\r\nrange: bytes=0-9\r\nif-match: "\xfc"\r\n\r\n`,
    ]);
    await response.readInto(Buffer.alloc(10), () => {});
  });

  test.each(['a\r\nEvil: 1', 'a\nb', 'a\0', '\u0100'])(
    'a field value that would break the request is refused: %j',
    async (value) => {
      const seen = await keepOpen();
      await expect(client().open(seen.url, { range: value }, forEver)).rejects.toMatchObject({
        code: 'bad-option',
      });
      expect(seen.connections).toBe(0);
    },
  );

  test('successive requests use one connection', async () => {
    const seen = await keepOpen();
    const from = client(4);
    for (let i = 0; i < 5; i++) expect(await get(from, seen)).toBe('0123456789');
    expect([seen.connections, seen.heads.length]).toEqual([1, 5]);
  });

  test('many requests at once share the allowed connections', async () => {
    const seen = await keepOpen();
    const from = client(3);
    const all = await Promise.all(Array.from({ length: 20 }, () => get(from, seen)));
    expect(all).toEqual(new Array(20).fill('0123456789'));
    expect([seen.connections, seen.mostAtOnce]).toEqual([3, 3]);
  });

  test('an unread body keeps its connection, and other requests wait', async () => {
    const seen = await keepOpen();
    const from = client(1);
    const first = await from.open(seen.url, {}, forEver);
    const second = get(from, seen);
    await new Promise((resolve) => setImmediate(resolve));
    expect(seen.heads).toHaveLength(1);
    await first.readInto(Buffer.alloc(10), () => {});
    expect(await second).toBe('0123456789');
    expect(seen.connections).toBe(1);
  });

  test('requests to different origins do not wait for each other', async () => {
    const silent = await serve(() => {});
    const seen = await keepOpen();
    const from = client(1);
    const stop = new AbortController();
    const never = get(from, silent, stop.signal).catch(() => 'given up');
    expect(await get(from, seen)).toBe('0123456789');
    stop.abort();
    expect(await never).toBe('given up');
  });

  test('a connection that the server closed after an answer is replaced', async () => {
    const seen = await serve((socket) => socket.end(ANSWER));
    const from = client(1);
    for (let i = 0; i < 3; i++) expect(await get(from, seen)).toBe('0123456789');
    expect(seen.connections).toBe(3);
  });

  test('a connection that breaks just as it is used again is replaced', async () => {
    const seen = await serve((socket, nth) => {
      if (nth === 0) socket.write(ANSWER);
      else resetConnection(socket);
    });
    const from = client(1);
    expect(await get(from, seen)).toBe('0123456789');
    expect(await get(from, seen)).toBe('0123456789');
    expect([seen.connections, seen.heads.length]).toEqual([2, 3]);
  });

  test('a connection with surplus bytes of an earlier answer is replaced', async () => {
    const late = 'the rest of the last answer\r\n\r\n';
    const seen = await serve((socket, nth) => socket.write(nth === 0 ? ANSWER : late));
    const one = client();
    for (let i = 0; i < 3; i++) expect(await get(one, seen)).toBe('0123456789');
    expect(seen.connections).toBe(3);
  });

  test('malformed bytes on a new connection are a failure', async () => {
    const seen = await serve((socket) => socket.write('this is not HTTP\r\n\r\n'));
    const malformed = expect.objectContaining({ code: 'malformed-response' });
    for (let i = 0; i < 2; i++) await expect(get(client(), seen)).rejects.toEqual(malformed);
    expect(seen.heads).toHaveLength(2);
  });

  test('a new connection that breaks is a failure, and frees its slot', async () => {
    const seen = await serve((socket, _, all) => {
      if (all < 2) resetConnection(socket);
      else socket.write(ANSWER);
    });
    const from = client(1);
    const [a, b] = [get(from, seen), get(from, seen)];
    await expect(a).rejects.toMatchObject({ code: 'ECONNRESET' });
    await expect(b).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(await get(from, seen)).toBe('0123456789');
  });

  test('a server that does not exist is a failure, and frees the slot', async () => {
    const seen = await keepOpen();
    await once(servers.splice(0)[0]?.close() as Server, 'close');
    const from = client(1);
    const all = await Promise.allSettled([get(from, seen), get(from, seen), get(from, seen)]);
    for (const one of all) {
      expect(one).toMatchObject({ status: 'rejected', reason: { code: 'ECONNREFUSED' } });
    }
  });

  test('nothing is sent if the signal has already aborted', async () => {
    const seen = await keepOpen();
    const reason = new Error('stopped');
    await expect(get(client(), seen, AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(seen.connections).toBe(0);
  });

  test('aborting before the answer closes the connection', async () => {
    const seen = await serve((socket, _, all) => all > 0 && socket.write(ANSWER));
    const from = client(1);
    const stop = new AbortController();
    const answer = get(from, seen, stop.signal);
    await requests(seen, 1);
    const reason = new Error('stopped');
    stop.abort(reason);
    await expect(answer).rejects.toBe(reason);
    expect(await get(from, seen)).toBe('0123456789');
    expect(seen.connections).toBe(2);
  });

  test('aborting before the body is read closes the connection', async () => {
    const seen = await keepOpen();
    const from = client(1);
    const stop = new AbortController();
    const response = await from.open(seen.url, {}, stop.signal);
    const reason = new Error('stopped');
    stop.abort(reason);
    await expect(response.readInto(Buffer.alloc(10), () => {})).rejects.toBe(reason);
    expect(await get(from, seen)).toBe('0123456789');
    expect(seen.connections).toBe(2);
  });

  test('aborting in the middle of the body stops all writes to the memory', async () => {
    const seen = await serve((socket, _, all) =>
      socket.write(all === 0 ? ANSWER.slice(0, -5) : ANSWER),
    );
    const from = client(1);
    const stop = new AbortController();
    const response = await from.open(seen.url, {}, stop.signal);
    const into = Buffer.alloc(10);
    const reason = new Error('stopped');
    let counted = 0;
    const reading = response.readInto(into, (count) => {
      counted += count;
      if (counted === 5) stop.abort(reason);
    });
    await expect(reading).rejects.toBe(reason);
    into.fill(0xaa);
    for (const socket of seen.sockets) socket.write('56789');
    expect(await get(from, seen)).toBe('0123456789');
    expect(into.equals(Buffer.alloc(10, 0xaa))).toBe(true);
  });

  test('aborting after the end does not affect the next request', async () => {
    const seen = await keepOpen();
    const from = client(1);
    const stop = new AbortController();
    expect(await get(from, seen, stop.signal)).toBe('0123456789');
    const next = get(from, seen);
    stop.abort();
    expect(await next).toBe('0123456789');
    expect(seen.connections).toBe(1);
  });

  test('aborting while waiting for a connection lets other requests continue', async () => {
    const seen = await keepOpen();
    const from = client(1);
    const first = await from.open(seen.url, {}, forEver);
    const stop = new AbortController();
    const leaving = get(from, seen, stop.signal);
    const staying = get(from, seen);
    const reason = new Error('stopped');
    stop.abort(reason);
    await expect(leaving).rejects.toBe(reason);
    await first.readInto(Buffer.alloc(10), () => {});
    expect(await staying).toBe('0123456789');
    // The request used the freed connection, not a new one after the idle time.
    expect([seen.connections, seen.heads.length]).toEqual([1, 2]);
  });

  test.each([
    ['chunked', 'Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n', false],
    ['without length', '\r\nabc', false],
    ['with a length', 'Content-Length: 3\r\n\r\nabc', true],
  ])('an answer %s is marked as plain or not', async (_, rest, plain) => {
    const seen = await serve((socket, nth, all) => {
      socket.write(nth === 0 && all === 0 ? `HTTP/1.1 206 OK\r\n${rest}` : ANSWER);
    });
    const from = client(1);
    const response = await from.open(seen.url, {}, forEver);
    expect(response.plain).toBe(plain);
    response.discard();
    response.discard();
    expect(await get(from, seen)).toBe('0123456789');
    // A connection with an unread body is closed instead of drained.
    expect(seen.connections).toBe(2);
  });

  test('an answer without a body leaves its connection to the next request', async () => {
    const seen = await serve((socket, nth) => {
      socket.write(nth === 0 ? 'HTTP/1.1 304 Not Modified\r\n\r\n' : ANSWER);
    });
    const from = client(1);
    const response = await from.open(seen.url, {}, forEver);
    expect(response.status).toBe(304);
    response.discard();
    expect(await get(from, seen)).toBe('0123456789');
    expect(seen.connections).toBe(1);
  });

  test('discarding an answer after its end does not affect the next request on its connection', async () => {
    const seen = await serve((socket, nth) => {
      if (nth === 0) socket.write(ANSWER);
    });
    const from = client();
    const response = await from.open(seen.url, {}, forEver);
    await response.readInto(Buffer.alloc(10), () => {});
    const next = get(from, seen);
    await requests(seen, 2);
    response.discard();
    for (const socket of seen.sockets) socket.write(ANSWER);
    expect([await next, seen.heads.length, seen.connections]).toEqual([BODY.toString(), 2, 1]);
  });

  test('closing the client closes idle connections, and lets busy ones finish', async () => {
    const seen = await keepOpen();
    const from = client(2);
    const busy = await from.open(seen.url, {}, forEver);
    await get(from, seen);
    expect(seen.sockets.size).toBe(2);
    from.close();
    while (seen.sockets.size > 1) await new Promise((resolve) => setImmediate(resolve));
    const into = Buffer.alloc(10);
    await busy.readInto(into, () => {});
    expect(into.equals(BODY)).toBe(true);
  });
});

describe('closeOrigin', () => {
  test('running and waiting requests to a closed origin fail with the given error', async () => {
    const seen = await serve((socket) => socket.write(ANSWER.slice(0, -5)));
    const from = client(1);
    const response = await from.open(seen.url, {}, forEver);
    const read = response.readInto(Buffer.alloc(10), () => {});
    const waiting = from.open(seen.url, {}, forEver);
    const error = new MillraceError('too-many-origins', 'others have fewer');
    from.closeOrigin(seen.url.origin, error);
    await expect(read).rejects.toBe(error);
    await expect(waiting).rejects.toBe(error);
    await until(() => seen.sockets.size === 0);
    expect(seen.heads).toHaveLength(1);
  });

  test('a closed origin can be asked again over a new connection', async () => {
    const seen = await keepOpen();
    const from = client(1);
    expect(await get(from, seen)).toBe(String(BODY));
    from.closeOrigin(seen.url.origin, new MillraceError('too-many-origins'));
    expect(await get(from, seen)).toBe(String(BODY));
    expect(await get(from, seen)).toBe(String(BODY));
    expect(seen.connections).toBe(2);
  });

  test('without an error only idle connections are closed', async () => {
    const seen = await serve((socket) => socket.write(ANSWER));
    const from = client(2);
    const response = await from.open(seen.url, {}, forEver);
    from.closeOrigin(seen.url.origin);
    const into = Buffer.alloc(10);
    await response.readInto(into, () => {});
    expect(into).toEqual(BODY);
  });
});

/** Polls until the condition holds. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}
