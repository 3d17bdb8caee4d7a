import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { resetConnection } from '@millrace/shared/node/reset-connection';
import { handleClientErrors } from './client-errors.ts';
import { releaseParser } from './http1-parser.ts';

const ending: (() => void)[] = [];
afterEach(() => {
  for (const end of ending.splice(0)) end();
});

interface Taken {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
}

/** A server whose requests the test answers itself. */
async function serve() {
  const taken: Taken[] = [];
  const server: Server = createServer({ connectionsCheckingInterval: 5 });
  handleClientErrors(server);
  server.on('request', (req, res) => taken.push({ req, res }));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ending.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const next = async (index: number): Promise<Taken> => {
    while (taken.length <= index) await once(server, 'request');
    return taken[index] as Taken;
  };
  return { server, taken, next };
}

/** Makes a server find late whatever is not complete, but only once the requests before it came. */
function hurry(server: Server): void {
  server.headersTimeout = 1;
  server.requestTimeout = 1;
}

/** A client that keeps everything that it receives. */
async function client(server: Server) {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  ending.push(() => socket.destroy());
  const got = { socket, text: '', reset: false, closed: Promise.resolve() };
  socket.on('data', (data) => {
    got.text += data.toString('latin1');
  });
  socket.on('error', (error: NodeJS.ErrnoException) => {
    got.reset = error.code === 'ECONNRESET';
  });
  got.closed = new Promise((resolve) => socket.once('close', () => resolve()));
  await once(socket, 'connect');
  return got;
}

const send = (socket: Socket, text: string) => socket.write(Buffer.from(text, 'latin1'));
const get = (target: string, version = '1.1', fields = '') =>
  `GET ${target} HTTP/${version}\r\nHost: x\r\n${fields}\r\n`;
const RAW = '/caf\xc3\xa9';

describe('a request that came while the process was kept from running', () => {
  test('is taken, although it counts as late before it is read', async () => {
    const { server, next } = await serve();
    const connected = once(server, 'connection');
    const got = await client(server);
    await connected;
    hurry(server);
    send(got.socket, get('/file', '1.1', 'Connection: close\r\n'));
    const until = performance.now() + 100;
    while (performance.now() < until);
    const { res } = await next(0);
    res.end('whole');
    await got.closed;
    expect(got.text).toMatch(/^HTTP\/1\.1 200 [\s\S]*whole$/);
  });

  test('is refused if a part of it is missing', async () => {
    const { server, taken } = await serve();
    const connected = once(server, 'connection');
    const got = await client(server);
    await connected;
    hurry(server);
    send(got.socket, get('/file').slice(0, -2));
    const until = performance.now() + 100;
    while (performance.now() < until);
    await got.closed;
    expect(got.text).toMatch(/^HTTP\/1\.1 408 /);
    expect(taken).toEqual([]);
  });
});

describe('a request whose target has bytes above ASCII', () => {
  test.each([
    ['HTTP/1.1', get(RAW)],
    ['HTTP/1.0', get(RAW, '1.0')],
    ['HTTP/1.0 with keep-alive', get(RAW, '1.0', 'Connection: keep-alive\r\n')],
    ['with keep-alive and close', get(RAW, '1.1', 'Connection: keep-alive, close\r\n')],
    ['behind empty lines', `\r\n\r\n${get(RAW)}`],
    ['with raw bytes in a field', get(RAW, '1.1', 'X: \xe9\r\n')],
    ['with a body', get(RAW, '1.1', 'Content-Length: 3\r\n').concat('abc')],
    ['of another method', get(RAW).replace('GET', 'DELETE')],
    ['before another request', get(RAW) + get('/second')],
    ['before another such request', get(RAW) + get(RAW)],
    ['before garbage', `${get(RAW)}\0\x01\xff garbage\r\n\r\n`],
    [
      'before a request whose body never comes',
      `${get(RAW)}${get('/second', '1.1', 'Content-Length: 9\r\n')}`,
    ],
  ])('is the last of its connection: %s', async (_, text) => {
    const { server, next, taken } = await serve();
    const got = await client(server);
    send(got.socket, text);
    const { req, res } = await next(0);
    expect(req.url).toBe('/caf%C3%A9');
    res.end('whole');
    await got.closed;
    expect(got.text).toMatch(/^HTTP\/1\.1 200 .*\r\nConnection: close\r\n.*whole/s);
    expect(got.text.split('HTTP/1.1')).toHaveLength(2);
    expect([got.reset, taken.length]).toEqual([false, 1]);
  });

  test('is the same request wherever a packet ends after its first such byte', async () => {
    const { server, next } = await serve();
    const text = get('/caf\xc3\xa9/\xe2\x82\xac?q=\xff', '1.1', 'X: y\r\n');
    const first = text.indexOf('\xc3') + 1;
    for (let at = first, index = 0; at <= text.length; at++, index++) {
      const got = await client(server);
      send(got.socket, text.slice(0, at));
      // The server has the first packet: another connection's request has come after it.
      const other = await client(server);
      send(other.socket, get('/other'));
      const both = [await next(2 * index)];
      const rest = at < text.length ? text.slice(at) : '';
      if (rest !== '') send(got.socket, rest);
      both.push(await next(2 * index + 1));
      for (const { res } of both) res.setHeader('connection', 'close').end();
      const { req } = both.find(({ req: { url } }) => url !== '/other') as Taken;
      expect(req.url).toBe('/caf%C3%A9/%E2%82%AC?q=%FF');
      expect(req.rawHeaders).toEqual(['Host', 'x', 'X', 'y']);
      await Promise.all([got.closed, other.closed]);
    }
  });

  test('is served if its line has begun in an earlier packet', async () => {
    const { server, next, taken } = await serve();
    const got = await client(server);
    send(got.socket, 'GET /ca');
    const other = await client(server);
    send(other.socket, get('/other'));
    const { res: otherResponse } = await next(0);
    send(got.socket, 'f\xc3\xa9 HTTP/1.1\r\nHost: x\r\n\r\n');
    const { req, res } = await next(1);
    expect(req.url).toBe('/caf%C3%A9');
    res.end('whole');
    otherResponse.setHeader('connection', 'close').end();
    await Promise.all([got.closed, other.closed]);
    expect(got.text).toMatch(/^HTTP\/1\.1 200 .*\r\nConnection: close\r\n.*whole/s);
    expect(taken).toHaveLength(2);
  });

  test('is refused if it does not end: once it is too long, or when the client ends', async () => {
    const { server, taken } = await serve();
    const long = await client(server);
    send(long.socket, `GET /\xe9${'x'.repeat(40_000)}`);
    await long.closed;
    expect(long.text).toMatch(/^HTTP\/1\.1 431 /);
    const short = await client(server);
    short.socket.end(Buffer.from('GET /\xe9x', 'latin1'));
    await short.closed;
    expect(short.text).toMatch(/^HTTP\/1\.1 400 /);
    expect(taken).toEqual([]);
  });

  test('has the time limits of its second parser: the first no longer ends the response', async () => {
    const { server, next } = await serve();
    const got = await client(server);
    send(got.socket, get(RAW));
    const { res } = await next(0);
    hurry(server);
    res.writeHead(200);
    res.write('first,');
    // A later connection is never found late before an earlier one.
    const late = await client(server);
    send(late.socket, 'GET /late HTTP/1.1\r\n');
    await late.closed;
    expect(late.text).toMatch(/^HTTP\/1\.1 408 /);
    res.end('last');
    await got.closed;
    expect(got.text).toMatch(/first,.*last/s);
    expect(got.reset).toBe(false);
  });

  test('leaves no parser and no listener behind when it closes', async () => {
    const { server, next } = await serve();
    const sockets: Socket[] = [];
    server.on('connection', (socket) => sockets.push(socket));
    const plain = await client(server);
    send(plain.socket, get('/plain'));
    (await next(0)).res.end();
    const got = await client(server);
    send(got.socket, get(RAW));
    await next(1);
    const counts = (socket: Socket | undefined) =>
      ['data', 'end', 'close', 'drain', 'timeout', 'pause', 'resume'].map((event) => [
        event,
        socket?.listenerCount(event),
      ]);
    const [first, second] = sockets as (Socket & { parser: unknown })[];
    // The response that is being sent listens to `close` as well.
    const expected = counts(first).map(([event, count]) =>
      event === 'close' ? [event, Number(count) + 1] : [event, count],
    );
    expect(counts(second)).toEqual(expected);
    const closed = new Promise((resolve) => second?.once('close', resolve));
    resetConnection(got.socket);
    await closed;
    expect(second?.parser).toBeNull();
  });
});

describe('an error behind an unfinished response', () => {
  const errors: [name: string, bytes: string, answer: RegExp | undefined][] = [
    ['a raw target', get(RAW), undefined],
    ['a raw target without an end', 'GET /\xe9', undefined],
    ['an unknown method', 'blah\r\n\r\n', /^HTTP\/1\.1 400 /],
    ['bytes of TLS', '\x16\x03\x01\x02\0\x01\0', /^HTTP\/1\.1 400 /],
    ['a bad version', 'GET / HTTP/9.9\r\n\r\n', /^HTTP\/1\.1 400 /],
    ['a bad field', get('/', '1.1', 'a b: c\r\n'), /^HTTP\/1\.1 400 /],
    [
      'two lengths',
      get('/', '1.1', 'Content-Length: 1\r\nContent-Length: 2\r\n'),
      /^HTTP\/1\.1 400 /,
    ],
    [
      'a length and chunks',
      get('/', '1.1', 'Content-Length: 1\r\nTransfer-Encoding: chunked\r\n'),
      /^HTTP\/1\.1 400 /,
    ],
    ['too large a header', get('/', '1.1', `X: ${'x'.repeat(20_000)}\r\n`), /^HTTP\/1\.1 431 /],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', /^HTTP\/1\.1 400 /],
  ];

  test.each(errors)('waits for the end of the response: %s', async (_, bytes, answer) => {
    const { server, next, taken } = await serve();
    const failed = once(server, 'clientError');
    const got = await client(server);
    send(got.socket, get('/first') + bytes);
    const { res } = await next(0);
    await failed;
    // More of it comes; the parser has failed for good.
    send(got.socket, 'x'.repeat(1000));
    res.writeHead(200, { 'content-length': 10 });
    res.write('01234');
    await once(got.socket, 'data');
    send(got.socket, bytes);
    res.end('56789');
    await got.closed;
    const [head = '', body = ''] = got.text.split(/(?<=\r\n\r\n)/);
    expect(head).toMatch(/^HTTP\/1\.1 200 /);
    expect(body.slice(0, 10)).toBe('0123456789');
    const rest = got.text.slice(head.length + 10);
    if (answer === undefined) expect(rest).toBe('');
    else expect(rest).toMatch(answer);
    expect([got.reset, taken.length]).toEqual([false, 1]);
  });

  test('responses that wait behind the first are sent before it, in turn', async () => {
    const { server, next } = await serve();
    const got = await client(server);
    send(got.socket, `${get('/1')}${get('/2')}${get('/3')}blah\r\n\r\n`);
    await next(2);
    for (const index of [2, 1, 0]) (await next(index)).res.end(`body ${index}`);
    await got.closed;
    expect(got.text.match(/body \d|HTTP\/1\.1 \d+/g)).toEqual([
      ...['HTTP/1.1 200', 'body 0', 'HTTP/1.1 200', 'body 1', 'HTTP/1.1 200', 'body 2'],
      'HTTP/1.1 400',
    ]);
  });

  test('a second request that is late does not end the first response', async () => {
    const { server, next } = await serve();
    const failed = once(server, 'clientError');
    const got = await client(server);
    send(got.socket, `${get('/first', '1.0', 'Connection: keep-alive\r\n')}GET /sec`);
    const { res } = await next(0);
    hurry(server);
    res.writeHead(200, { 'content-length': 10 });
    res.write('01234');
    const [error] = (await failed) as [NodeJS.ErrnoException];
    expect(error.code).toBe('ERR_HTTP_REQUEST_TIMEOUT');
    res.end('56789');
    await got.closed;
    expect(got.text).toMatch(/\r\n\r\n0123456789HTTP\/1\.1 408 /);
  });

  test('a body that cannot be read resets a response that has begun', async () => {
    const { server, next } = await serve();
    const got = await client(server);
    send(got.socket, get('/first', '1.1', 'Transfer-Encoding: chunked\r\n'));
    const { res } = await next(0);
    res.writeHead(200);
    res.write('begun');
    await once(got.socket, 'data');
    send(got.socket, 'no hexadecimal size\r\n');
    await got.closed;
    expect([got.reset, got.text.includes('400')]).toEqual([true, false]);
  });

  test('a body that cannot be read gets an error while nothing has been sent', async () => {
    const { server } = await serve();
    const got = await client(server);
    send(got.socket, `${get('/first', '1.1', 'Transfer-Encoding: chunked\r\n')}no size\r\n`);
    await got.closed;
    expect(got.text).toMatch(/^HTTP\/1\.1 400 /);
  });
});

describe('a client that leaves', () => {
  test('a response of unknown length is reset, and never ended by a FIN', async () => {
    const { server, next } = await serve();
    for (const behind of ['', get(RAW), 'blah\r\n\r\n']) {
      const got = await client(server);
      send(got.socket, get('/first', '1.0', 'Connection: keep-alive\r\n'));
      const index = ['', get(RAW), 'blah\r\n\r\n'].indexOf(behind);
      const { res } = await next(index);
      res.removeHeader('transfer-encoding');
      res.writeHead(200);
      res.write('not all');
      await once(got.socket, 'data');
      got.socket.end(Buffer.from(behind, 'latin1'));
      await got.closed;
      expect([behind, got.reset]).toEqual([behind, true]);
    }
  });

  test.each([
    ['CONNECT', 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a raw target', get(RAW)],
    ['garbage', 'blah\r\n\r\n'],
  ])('ends all responses that wait for each other, even with %s behind them', async (_, behind) => {
    const { server, next } = await serve();
    const got = await client(server);
    const closed: Promise<unknown>[] = [];
    server.on('request', (_req, res) => closed.push(once(res, 'close')));
    send(got.socket, get('/1') + get('/2') + get('/3') + behind);
    await next(2);
    resetConnection(got.socket);
    await Promise.all(closed);
    expect(closed).toHaveLength(3);
  });
});

test('this version of Node listens to its connections as http1-parser.ts expects', async () => {
  const { server } = await serve();
  const connected = once(server, 'connection');
  await client(server);
  const [socket] = (await connected) as [Socket & { parser: unknown }];
  expect(releaseParser(socket)).toBe(true);
  expect(socket.parser).toBeNull();
  // A second time there is nothing to release.
  expect(releaseParser(socket)).toBe(false);
  socket.destroy();
});
