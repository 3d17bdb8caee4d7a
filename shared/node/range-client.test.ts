import { describe, expect, test } from '@jest/globals';
import { resetConnection } from './reset-connection.ts';
import { ANSWER, ClientStage, forEver, get } from './testing/client-stage.ts';

const stage = new ClientStage();

describe('RangeClient', () => {
  test('sends the given fields and a Host, and no other fields', async () => {
    const seen = await stage.keepOpen();
    const headers = { range: 'bytes=0-9', 'if-match': '"\xfc"' };
    const response = await stage.client().open(seen.url, headers, forEver);
    expect([response.status, response.plain]).toEqual([206, true]);
    expect(seen.heads).toEqual([
      `GET /f?x=1 HTTP/1.1\r\nHost: ${seen.url.host}\r\nrange: bytes=0-9\r\nif-match: "\xfc"\r\n\r\n`,
    ]);
    await response.readInto(Buffer.alloc(10), () => {});
  });

  test.each(['a\r\nEvil: 1', 'a\nb', 'a\0', '\u0100'])(
    'a field value that would break the request is refused: %j',
    async (value) => {
      const seen = await stage.keepOpen();
      await expect(stage.client().open(seen.url, { range: value }, forEver)).rejects.toMatchObject({
        code: 'bad-option',
      });
      expect(seen.connections).toBe(0);
    },
  );

  test('successive requests use one connection', async () => {
    const seen = await stage.keepOpen();
    const from = stage.client(4);
    for (let i = 0; i < 5; i++) expect(await get(from, seen)).toBe('0123456789');
    expect([seen.connections, seen.heads.length]).toEqual([1, 5]);
  });

  test('many requests at once share the allowed connections', async () => {
    const seen = await stage.keepOpen();
    const from = stage.client(3);
    const all = await Promise.all(Array.from({ length: 20 }, () => get(from, seen)));
    expect(all).toEqual(new Array(20).fill('0123456789'));
    expect([seen.connections, seen.mostAtOnce]).toEqual([3, 3]);
  });

  test('an unread body keeps its connection, and other requests wait', async () => {
    const seen = await stage.keepOpen();
    const from = stage.client(1);
    const first = await from.open(seen.url, {}, forEver);
    const second = get(from, seen);
    await new Promise((resolve) => setImmediate(resolve));
    expect(seen.heads).toHaveLength(1);
    await first.readInto(Buffer.alloc(10), () => {});
    expect(await second).toBe('0123456789');
    expect(seen.connections).toBe(1);
  });

  test('requests to different origins do not wait for each other', async () => {
    const silent = await stage.serve(() => {});
    const seen = await stage.keepOpen();
    const from = stage.client(1);
    const stop = new AbortController();
    const never = get(from, silent, stop.signal).catch(() => 'given up');
    expect(await get(from, seen)).toBe('0123456789');
    stop.abort();
    expect(await never).toBe('given up');
  });

  test('a connection that the server closed after an answer is replaced', async () => {
    const seen = await stage.serve((socket) => socket.end(ANSWER));
    const from = stage.client(1);
    for (let i = 0; i < 3; i++) expect(await get(from, seen)).toBe('0123456789');
    expect(seen.connections).toBe(3);
  });

  test('a connection that breaks just as it is used again is replaced', async () => {
    const seen = await stage.serve((socket, nth) => {
      if (nth === 0) socket.write(ANSWER);
      else resetConnection(socket);
    });
    const from = stage.client(1);
    expect(await get(from, seen)).toBe('0123456789');
    expect(await get(from, seen)).toBe('0123456789');
    expect([seen.connections, seen.heads.length]).toEqual([2, 3]);
  });

  test('a connection with surplus bytes of an earlier answer is replaced', async () => {
    const late = 'the rest of the last answer\r\n\r\n';
    const seen = await stage.serve((socket, nth) => socket.write(nth === 0 ? ANSWER : late));
    const one = stage.client();
    for (let i = 0; i < 3; i++) expect(await get(one, seen)).toBe('0123456789');
    expect(seen.connections).toBe(3);
  });

  test('malformed bytes on a new connection are a failure', async () => {
    const seen = await stage.serve((socket) => socket.write('this is not HTTP\r\n\r\n'));
    const malformed = expect.objectContaining({ code: 'malformed-response' });
    for (let i = 0; i < 2; i++) await expect(get(stage.client(), seen)).rejects.toEqual(malformed);
    expect(seen.heads).toHaveLength(2);
  });

  test('a new connection that breaks is a failure, and frees its slot', async () => {
    const seen = await stage.serve((socket, _, all) => {
      if (all < 2) resetConnection(socket);
      else socket.write(ANSWER);
    });
    const from = stage.client(1);
    const [a, b] = [get(from, seen), get(from, seen)];
    await expect(a).rejects.toMatchObject({ code: 'ECONNRESET' });
    await expect(b).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(await get(from, seen)).toBe('0123456789');
  });

  test('a server that does not exist is a failure, and frees the slot', async () => {
    const seen = await stage.keepOpen();
    await seen.end();
    const from = stage.client(1);
    const all = await Promise.allSettled([get(from, seen), get(from, seen), get(from, seen)]);
    for (const one of all) {
      expect(one).toMatchObject({ status: 'rejected', reason: { code: 'ECONNREFUSED' } });
    }
  });

  test.each([
    ['chunked', 'Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n', false],
    ['without length', '\r\nabc', false],
    ['with a length', 'Content-Length: 3\r\n\r\nabc', true],
  ])('an answer %s is marked as plain or not', async (_, rest, plain) => {
    const seen = await stage.serve((socket, nth, all) => {
      socket.write(nth === 0 && all === 0 ? `HTTP/1.1 206 OK\r\n${rest}` : ANSWER);
    });
    const from = stage.client(1);
    const response = await from.open(seen.url, {}, forEver);
    expect(response.plain).toBe(plain);
    response.discard();
    response.discard();
    expect(await get(from, seen)).toBe('0123456789');
    // A connection with an unread body is closed instead of drained.
    expect(seen.connections).toBe(2);
  });

  test('an answer without a body leaves its connection to the next request', async () => {
    const seen = await stage.serve((socket, nth) => {
      socket.write(nth === 0 ? 'HTTP/1.1 304 Not Modified\r\n\r\n' : ANSWER);
    });
    const from = stage.client(1);
    const response = await from.open(seen.url, {}, forEver);
    expect(response.status).toBe(304);
    response.discard();
    expect(await get(from, seen)).toBe('0123456789');
    expect(seen.connections).toBe(1);
  });
});
