import { once } from 'node:events';
import type { Socket } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { resetConnection } from '@millrace/shared/node/reset-connection';
import { releaseParser } from './http1-parser.ts';
import { client, get, hurry, send, serve, type Taken } from './testing/parser-stage.ts';

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
