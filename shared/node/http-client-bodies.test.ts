import { describe, expect, test } from '@jest/globals';
import { resetConnection } from './reset-connection.ts';
import { forEver, HttpClientStage, OK, read, settle, text } from './testing/http-client-stage.ts';

const stage = new HttpClientStage();
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

describe('a body that HttpClient reads', () => {
  test.each(FRAMINGS)('a body with %s is read the same wherever it is cut', async (...row) => {
    const [, whole, body, keepAlive] = row;
    const cuts = whole.length;
    const served = await stage.serve((socket, all) => {
      socket.write(whole.slice(0, all), 'latin1', () =>
        setImmediate(() => socket.write(whole.slice(all), 'latin1')),
      );
    });
    const from = stage.client();
    for (let cut = 0; cut < cuts; cut++) expect(await text(from, served)).toBe(body);
    expect(served.connections).toBe(keepAlive ? 1 : cuts);
  });

  test('a body without a length or chunks is complete when its connection ends', async () => {
    const served = await stage.serve((socket) => socket.end(`${OK}\r\nhello world`));
    expect(await text(stage.client(), served)).toBe('hello world');
    const empty = await stage.serve((socket) => socket.end(`${OK}\r\n`));
    expect(await text(stage.client(), empty)).toBe('');
  });

  test.each([
    ['length', `Content-Length: 6\r\n\r\nhello`],
    ['chunks', `Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`],
    ['a chunk', `Transfer-Encoding: chunked\r\n\r\n6\r\nhello`],
  ])('a body that ends before its %s is broken', async (_, rest) => {
    const served = await stage.serve((socket) => socket.end(OK + rest));
    await expect(text(stage.client(), served)).rejects.toMatchObject({ code: 'origin-reset' });
  });

  test('a reset breaks every kind of body', async () => {
    for (const fields of ['', 'Content-Length: 9\r\n', 'Transfer-Encoding: chunked\r\n']) {
      const served = await stage.serve((socket) => void socket.write(`${OK}${fields}\r\n1\r\na`));
      const response = await stage.client().get(served.url, {}, forEver);
      for (const socket of stage.sockets) resetConnection(socket);
      await expect(read(response)).rejects.toMatchObject({ code: 'origin-reset' });
    }
  });

  test.each([
    ['an unknown coding', 'Transfer-Encoding: gzip, chunked\r\n\r\n'],
    ['malformed chunks', 'Transfer-Encoding: chunked\r\n\r\nhello\r\n'],
  ])('%s is refused, and the connection closed', async (_, rest) => {
    const served = await stage.serve((socket) => socket.write(OK + rest));
    const from = stage.client();
    await expect(text(from, served)).rejects.toMatchObject({ code: 'malformed-response' });
    await stage.allGone();
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
    const served = await stage.serve((socket) => socket.write(answer));
    const got = stage.client().get(served.url, {}, forEver);
    await expect(got).rejects.toMatchObject({ code: 'malformed-response' });
  });

  test.each([
    ['a length', `${OK}Content-Length: 4\r\n\r\ngood`],
    ['chunks', `${OK}Transfer-Encoding: chunked\r\n\r\n4\r\ngood\r\n0\r\n\r\n`],
  ])('an answer smuggled in after %s answers no request', async (_, good) => {
    const evil = `${OK}Content-Length: 4\r\n\r\nevil`;
    const served = await stage.serve((socket) => socket.write(good + evil));
    const from = stage.client();
    for (let i = 0; i < 3; i++) expect(await text(from, served)).toBe('good');
    expect(served.connections).toBe(3);
  });

  test('a body is held back without a time limit while its receiver is not ready', async () => {
    const body = Buffer.alloc(3_000_000);
    for (let i = 0; i < body.length; i++) body[i] = (i * 31) ^ (i >> 8);
    const served = await stage.serve((socket) => {
      socket.write(`${OK}Content-Length: ${body.length}\r\n\r\n`);
      socket.write(body);
    });
    // Long enough for the beginning of a response on a busy machine.
    const timeoutMs = 1000;
    const response = await stage.client(timeoutMs).get(served.url, {}, forEver);
    const silent = await stage.serve(() => {});
    // Wait until a request that begins now times out: the first request would time out as well if
    // its time counted.
    const untilTimeout = () => expect(text(stage.client(timeoutMs), silent)).rejects.toThrow();
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
    const served = await stage.serve((socket, all) => {
      const first = all === 0 ? body : body.subarray(7);
      socket.write(`${OK}Content-Length: ${first.length}\r\n\r\n`);
      socket.write(first);
    });
    const from = stage.client();
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
    const served = await stage.serve((socket) =>
      socket.write(`${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`),
    );
    const response = await stage.client().get(served.url, {}, forEver);
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
});
