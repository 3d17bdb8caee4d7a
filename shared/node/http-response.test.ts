import type { Socket } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { Agent } from 'undici';
import { seededRandom } from '../src/base/clock.ts';
import { MillraceError } from '../src/base/errors.ts';
import { httpGet } from './http-get.ts';
import type { HttpResponse } from './http-response.ts';
import { resetConnection } from './reset-connection.ts';
import { AnsweringServer } from './testing/answering-server.ts';

let server: AnsweringServer;
let agent: Agent | undefined;

afterEach(async () => {
  await agent?.destroy();
  await server.stop();
});

/** Returns the answer to one request; `send` writes it on the server's side. */
async function open(
  send: (socket: Socket) => unknown,
  signal = new AbortController().signal,
): Promise<HttpResponse> {
  server = await AnsweringServer.start((socket) => void send(socket));
  agent = new Agent({ connections: 1 });
  return httpGet(agent, new URL(`http://127.0.0.1:${server.port}/`), {}, signal);
}

const head = (length: number) => `HTTP/1.1 200 OK\r\nContent-Length: ${length}\r\n\r\n`;
const chunked = (...chunks: string[]) =>
  `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunks
    .map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`)
    .join('')}`;
const END = '0\r\n\r\n';
const random = seededRandom(3);
function bytes(length: number): Buffer {
  const made = Buffer.alloc(length);
  for (let i = 0; i < length; i++) made[i] = random() * 256;
  return made;
}
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Writes a body piece by piece, usually one packet each. */
async function sendSlowly(socket: Socket, pieces: readonly (string | Buffer)[]): Promise<void> {
  for (const piece of pieces) {
    await new Promise((resolve) => socket.write(piece, resolve));
    await turn();
  }
}

/** Reads into memory of `length` bytes, and checks that nothing is written beside it. */
async function readInto(response: HttpResponse, length: number): Promise<string> {
  const memory = Buffer.alloc(length + 32, 0xaa);
  const into = memory.subarray(16, 16 + length);
  let counted = 0;
  try {
    await response.readInto(into, (count) => {
      counted += count;
    });
    expect(counted).toBe(length);
    return into.toString();
  } finally {
    const beside = Buffer.concat([memory.subarray(0, 16), memory.subarray(16 + length)]);
    expect(beside.equals(Buffer.alloc(32, 0xaa))).toBe(true);
  }
}

describe('HttpResponse', () => {
  test.each([
    ['in one packet', [`${head(11)}hello world`]],
    ['in pieces', [head(11).slice(0, 20), `${head(11).slice(20)}he`, 'llo wor', 'ld']],
    ['in chunks', [chunked('hello', ' wor', 'ld'), END]],
    ['up to the end of the connection', ['HTTP/1.1 200 OK\r\n\r\nhello', ' world']],
  ])('a body that comes %s is read into memory', async (how, pieces) => {
    const response = await open(async (socket) => {
      await sendSlowly(socket, pieces);
      if (how.startsWith('up to')) socket.end();
    });
    expect(await readInto(response, 11)).toBe('hello world');
  });

  test('a body waits until it is read', async () => {
    const response = await open((socket) => socket.write(`${head(5)}hello`));
    for (let i = 0; i < 20; i++) await turn();
    expect(await readInto(response, 5)).toBe('hello');
  });

  test('an empty body is read as an empty body', async () => {
    expect(await readInto(await open((socket) => socket.write(head(0))), 0)).toBe('');
  });

  test.each([
    ['a body shorter than expected', `${head(4)}hell`],
    ['a chunked body shorter than expected', chunked('hel', 'l') + END],
    ['an answer without the expected body', 'HTTP/1.1 204 No Content\r\n\r\n'],
  ])('%s is refused', async (_, sent) => {
    const response = await open((socket) => socket.write(sent));
    await expect(readInto(response, 5)).rejects.toMatchObject({ code: 'wrong-length' });
  });

  test('bytes after the refusal of a body are not written to the memory', async () => {
    const response = await open((socket) => {
      socket.write(chunked('hello', '!', 'more'));
    });
    const into = Buffer.alloc(5);
    await expect(response.readInto(into, () => {})).rejects.toBeInstanceOf(MillraceError);
    into.fill(0xaa);
    while (server.sockets.size > 0) await turn();
    expect(into.equals(Buffer.alloc(5, 0xaa))).toBe(true);
  });

  test.each([
    ['ends', (socket: Socket) => socket.end()],
    ['is reset', (socket: Socket) => resetConnection(socket)],
  ])('a body whose connection %s before its length is reached is broken', async (_, cut) => {
    const response = await open((socket) => socket.write(`${head(5)}hell`));
    const reading = response.readInto(Buffer.alloc(5), () => {
      for (const socket of server.sockets) cut(socket);
    });
    await expect(reading).rejects.toMatchObject({ code: 'origin-reset' });
  });

  test('a chunked body that breaks off is broken', async () => {
    const response = await open((socket) => socket.end(chunked('hello')));
    await expect(readInto(response, 5)).rejects.toMatchObject({ code: 'origin-reset' });
  });

  test('a body that broke before it was read is still broken', async () => {
    const response = await open((socket) => {
      socket.write(`${head(5)}hell`);
      setImmediate(() => resetConnection(socket));
    });
    while (server.sockets.size > 0) await turn();
    await expect(readInto(response, 5)).rejects.toMatchObject({ code: 'origin-reset' });
  });

  test('a body is passed on piece by piece', async () => {
    const body = bytes(300_000);
    const response = await open((socket) =>
      socket.write(Buffer.concat([Buffer.from(head(300_000)), body])),
    );
    const pieces: Buffer[] = [];
    await response.pipe((chunk) => {
      pieces.push(Buffer.from(chunk));
      return true;
    });
    expect(Buffer.concat(pieces).equals(body)).toBe(true);
  });

  test('a receiver that is not ready gets nothing until it is', async () => {
    const body = bytes(1_000_000);
    const response = await open((socket) =>
      socket.write(Buffer.concat([Buffer.from(head(1_000_000)), body])),
    );
    const pieces: Buffer[] = [];
    let ready = true;
    await response.pipe((chunk, resume) => {
      expect(ready).toBe(true);
      pieces.push(Buffer.from(chunk));
      if (pieces.length % 3 !== 0) return true;
      ready = false;
      void turn().then(() => {
        ready = true;
        resume();
      });
      return false;
    });
    expect(Buffer.concat(pieces).equals(body)).toBe(true);
    expect(pieces.length).toBeGreaterThan(3);
  });

  test('a receiver that is never ready keeps the server from sending the whole body', async () => {
    let sent = 0;
    const response = await open(async (socket) => {
      socket.write(head(2 ** 30));
      const block = Buffer.alloc(2 ** 20);
      while (sent < 2 ** 30 && socket.write(block)) sent += block.length;
    });
    let pieces = 0;
    void response
      .pipe(() => {
        pieces++;
        return false;
      })
      .catch(() => {});
    while (pieces === 0) await turn();
    for (let i = 0; i < 50; i++) await turn();
    expect(pieces).toBe(1);
    response.discard();
  });

  test('a consumer that pauses for every piece does not keep everything else from running', async () => {
    const sent = bytes(3000);
    const response = await open(async (socket) => {
      await sendSlowly(socket, [head(sent.length), sent.subarray(0, 1000)]);
      // The rest is only sent once the event loop goes round: pieces must not come without end.
      for (let i = 0; i < 10; i++) await turn();
      await sendSlowly(socket, [sent.subarray(1000, 2000), sent.subarray(2000)]);
    });
    const got: Buffer[] = [];
    await response.pipe((chunk, resume) => {
      got.push(Buffer.from(chunk));
      if (got.length > 100) throw new Error('pieces without end');
      void Promise.resolve().then(resume);
      return false;
    });
    expect(Buffer.concat(got).equals(sent)).toBe(true);
    expect(got.filter(({ length }) => length === 0)).toHaveLength(0);
  });

  test('a broken body rejects the pipe', async () => {
    const response = await open((socket) => socket.end(`${head(10)}hello`));
    await expect(response.pipe(() => true)).rejects.toMatchObject({ code: 'origin-reset' });
  });

  test('discarding a body closes its connection instead of waiting for the rest', async () => {
    const response = await open((socket) => socket.write(`${head(10)}hello`));
    expect(server.sockets.size).toBe(1);
    response.discard();
    response.discard();
    while (server.sockets.size > 0) await turn();
    expect(server.sockets.size).toBe(0);
  });
});
