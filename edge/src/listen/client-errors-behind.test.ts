/** Errors on connections on which a response is owed: it comes whole, or is reset. */

import { once } from 'node:events';
import { describe, expect, test } from '@jest/globals';
import { client, get, hurry, send, serve } from './testing/parser-stage.ts';

const RAW = '/caf\xc3\xa9';

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
