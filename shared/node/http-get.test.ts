import type { Socket } from 'node:net';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { Agent } from 'undici';
import { MAX_INTERIM_ANSWERS } from '../src/base/limits.ts';
import { httpGet } from './http-get.ts';
import { resetConnection } from './reset-connection.ts';
import { AnsweringServer } from './testing/answering-server.ts';

const forEver = new AbortController().signal;
const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nETag: "a"\r\n\r\nhello';

const servers: AnsweringServer[] = [];
const agents: Agent[] = [];

afterEach(async () => {
  jest.restoreAllMocks();
  await Promise.all(agents.splice(0).map((agent) => agent.destroy()));
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

/** Starts a server that calls `answer` for each request, and returns its URL. */
async function serve(
  answer: (socket: Socket, all: number) => void,
  heads: string[] = [],
): Promise<URL> {
  const server = await AnsweringServer.start(answer, heads);
  servers.push(server);
  return new URL(`http://127.0.0.1:${server.port}/f?x=1`);
}

/** Waits until all connections have ended. */
async function noneOpen(): Promise<void> {
  const open = () => servers.some(({ sockets }) => sockets.size > 0);
  while (open()) await new Promise((resolve) => setImmediate(resolve));
}

function agent(): Agent {
  const made = new Agent({ connections: 1, pipelining: 1 });
  agents.push(made);
  return made;
}

async function text(url: URL, from: Agent, signal = forEver): Promise<string> {
  const response = await httpGet(from, url, {}, signal);
  const pieces: Buffer[] = [];
  await response.pipe((chunk) => {
    pieces.push(Buffer.from(chunk));
    return true;
  });
  return Buffer.concat(pieces).toString();
}

describe('httpGet', () => {
  test('returns the header before the body, with the URL and times of the request', async () => {
    const heads: string[] = [];
    const clock = jest.spyOn(Date, 'now').mockReturnValue(1000);
    const url = await serve((socket) => {
      clock.mockReturnValue(1070);
      socket.write(ANSWER);
    }, heads);
    const response = await httpGet(agent(), url, { range: 'bytes=0-4' }, forEver);
    expect([response.status, response.headers.etag]).toEqual([200, '"a"']);
    expect(response.url).toBe(url);
    expect([response.requestedAt, response.arrivedAt]).toEqual([1000, 1070]);
    expect(heads[0]).toMatch(/^GET \/f\?x=1 HTTP\/1\.1\r\n/);
    expect(heads[0]).toContain('range: bytes=0-4\r\n');
    response.discard();
  });

  test.each(['gzip, chunked', 'chunked, chunked'])(
    'refuses a body in the transfer coding "%s", which undici would pass on as it is',
    async (coding) => {
      const url = await serve((socket) => {
        socket.write(`HTTP/1.1 200 OK\r\nTransfer-Encoding: ${coding}\r\n\r\n0\r\n\r\n`);
      });
      await expect(text(url, agent())).rejects.toMatchObject({ code: 'malformed-response' });
    },
  );

  test('skips interim answers', async () => {
    const url = await serve((socket) => {
      socket.write(`HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n${ANSWER}`);
    });
    const response = await httpGet(agent(), url, {}, forEver);
    expect(response.status).toBe(200);
    response.discard();
  });

  test.each([
    ['a header that drips for ever', 'HTTP/1.1 200 OK\r\nX: ', 'a'],
    ['interim answers for ever', '', 'HTTP/1.1 103 Early Hints\r\n\r\n'],
  ])('%s ends the request', async (_what, first, again) => {
    const url = await serve((socket) => {
      socket.write(first);
      const timer = setInterval(() => socket.write(again), 5);
      socket.once('close', () => clearInterval(timer));
    });
    const asked = httpGet(agent(), url, {}, forEver, { headMs: 200 });
    await expect(asked).rejects.toMatchObject({ code: 'origin-timeout' });
  });

  test('an origin that sends too many interim answers, and no answer, ends the request', async () => {
    const url = await serve((socket) => {
      socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(MAX_INTERIM_ANSWERS + 1));
    });
    const asked = httpGet(agent(), url, {}, forEver);
    await expect(asked).rejects.toMatchObject({ code: 'malformed-response' });
  });

  test('reports the end of the exchange: its body is read, discarded or broken', async () => {
    const url = await serve((socket, all) => {
      if (all < 2) return void socket.write(ANSWER);
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe', () => socket.end());
    });
    const from = agent();
    const ends: string[] = [];
    const get = (name: string) =>
      httpGet(from, url, {}, forEver, { onDone: () => ends.push(name) });
    await (await get('read')).readInto(Buffer.alloc(5), () => {});
    expect(ends).toEqual(['read']);
    (await get('given up')).discard();
    const broken = (await get('broken')).readInto(Buffer.alloc(5), () => {});
    await expect(broken).rejects.toMatchObject({ code: 'origin-reset' });
    expect(ends).toEqual(['read', 'given up', 'broken']);
  });

  test('does not follow redirects', async () => {
    const url = await serve((socket) => {
      socket.write('HTTP/1.1 302 Found\r\nLocation: /y\r\nContent-Length: 0\r\n\r\n');
    });
    const response = await httpGet(agent(), url, {}, forEver);
    expect([response.status, response.headers.location]).toEqual([302, '/y']);
    response.discard();
  });

  test('sends a request again if a kept-alive connection breaks before the answer', async () => {
    const heads: string[] = [];
    const url = await serve((socket, all) => {
      if (all === 1) resetConnection(socket);
      else socket.write(ANSWER);
    }, heads);
    const from = agent();
    expect(await text(url, from)).toBe('hello');
    expect(await text(url, from)).toBe('hello');
    expect(heads).toHaveLength(3);
  });

  test('sends a request twice at most', async () => {
    const heads: string[] = [];
    const url = await serve((socket) => resetConnection(socket), heads);
    await expect(text(url, agent())).rejects.toMatchObject({ code: 'origin-reset' });
    expect(heads).toHaveLength(2);
  });

  test('sends a request only once if the answer has begun', async () => {
    const heads: string[] = [];
    const url = await serve((socket) => {
      socket.write(ANSWER.slice(0, -1));
      socket.end();
    }, heads);
    await expect(text(url, agent())).rejects.toMatchObject({ code: 'origin-reset' });
    expect(heads).toHaveLength(1);
  });

  test.each([
    ['no HTTP', 'SSH-2.0-OpenSSH_9\r\n\r\n'],
    ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n'],
    ['a length and chunks', ANSWER.replace('ETag: "a"', 'Transfer-Encoding: chunked')],
    ['a header too long', `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`],
  ])('%s is refused, and the request is not repeated', async (_, sent) => {
    const heads: string[] = [];
    const url = await serve((socket) => socket.write(sent), heads);
    await expect(text(url, agent())).rejects.toMatchObject({ code: 'malformed-response' });
    expect(heads).toHaveLength(1);
  });

  test('a server that does not exist is reported as unreachable', async () => {
    const url = await serve(() => {});
    await servers.splice(0)[0]?.end();
    await expect(text(url, agent())).rejects.toMatchObject({ code: 'origin-unreachable' });
  });

  test('nothing is sent if the signal has already aborted', async () => {
    const heads: string[] = [];
    const url = await serve((socket) => socket.write(ANSWER), heads);
    const reason = new Error('stopped');
    await expect(text(url, agent(), AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(heads).toEqual([]);
  });

  test('aborting at once sends nothing or closes the connection', async () => {
    const url = await serve(() => {});
    const stop = new AbortController();
    const answer = text(url, agent(), stop.signal);
    const reason = new Error('stopped');
    stop.abort(reason);
    await expect(answer).rejects.toBe(reason);
  });

  test('a request that is aborted before its answer is not repeated', async () => {
    const heads: string[] = [];
    const stop = new AbortController();
    const reason = new Error('stopped');
    const url = await serve(() => stop.abort(reason), heads);
    await expect(text(url, agent(), stop.signal)).rejects.toBe(reason);
    await noneOpen();
    expect(heads).toHaveLength(1);
  });

  test('aborting while waiting for a connection lets other requests continue', async () => {
    const heads: string[] = [];
    const held: Socket[] = [];
    const url = await serve((socket, all) => {
      if (all === 0) held.push(socket);
      else socket.write(ANSWER);
    }, heads);
    const from = agent();
    const first = text(url, from);
    const stop = new AbortController();
    const leaving = text(url, from, stop.signal);
    const staying = text(url, from);
    while (held.length === 0) await new Promise((resolve) => setImmediate(resolve));
    const reason = new Error('stopped');
    stop.abort(reason);
    await expect(leaving).rejects.toBe(reason);
    held[0]?.write(ANSWER);
    expect(await Promise.all([first, staying])).toEqual(['hello', 'hello']);
    expect(heads).toHaveLength(2);
  });

  test('aborting in the middle of the body rejects the read with the reason', async () => {
    const url = await serve((socket) => socket.write(ANSWER.slice(0, -2)));
    const stop = new AbortController();
    const response = await httpGet(agent(), url, {}, stop.signal);
    const reason = new Error('stopped');
    const reading = response.readInto(Buffer.alloc(5), () => stop.abort(reason));
    await expect(reading).rejects.toBe(reason);
  });

  test('aborting before the body is read rejects the read with the reason', async () => {
    const url = await serve((socket) => socket.write(ANSWER));
    const stop = new AbortController();
    const response = await httpGet(agent(), url, {}, stop.signal);
    const reason = new Error('stopped');
    stop.abort(reason);
    await noneOpen();
    await expect(response.readInto(Buffer.alloc(5), () => {})).rejects.toBe(reason);
  });

  test('aborting after the end has no effect', async () => {
    const url = await serve((socket) => socket.write(ANSWER));
    const from = agent();
    const stop = new AbortController();
    expect(await text(url, from, stop.signal)).toBe('hello');
    const next = text(url, from);
    stop.abort();
    expect(await next).toBe('hello');
  });
});
