import { once } from 'node:events';
import type { Socket } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { RangeClient } from './range-client.ts';
import { AnsweringServer } from './testing/answering-server.ts';

const forEver = new AbortController().signal;
const BYTES = 16_384;
const HEAD = `HTTP/1.1 206 OK\r\nContent-Length: ${BYTES}\r\n\r\n`;

const servers: AnsweringServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

/** Starts a server that answers each request with its number, over and over. */
async function serve(answers: number): Promise<AnsweringServer> {
  const server = await AnsweringServer.start((socket, count) =>
    socket.write(`${HEAD}${`${count}`.repeat(BYTES)}`.repeat(answers)),
  );
  servers.push(server);
  return server;
}

const client = () =>
  new RangeClient({ connections: 1, timeoutMs: 10_000, connectTimeoutMs: 10_000 });

async function get(from: RangeClient, { port }: AnsweringServer): Promise<string> {
  const body = Buffer.alloc(BYTES);
  const response = await from.open(new URL(`http://127.0.0.1:${port}/f`), {}, forEver);
  await response.readInto(body, () => {});
  return body.toString();
}

test('gives no request the second of two answers to an earlier one', async () => {
  const server = await serve(2);
  const one = client();
  const bodies = await Promise.all([0, 1, 2, 3].map(() => get(one, server)));
  one.close();
  expect(bodies).toEqual([0, 1, 2, 3].map((count) => `${count}`.repeat(BYTES)));
});

test.each(['close', 'closeOrigin'] as const)(
  '%s ends a connection whose answer has just been read',
  async (way) => {
    const server = await serve(1);
    const one = client();
    await get(one, server);
    const [socket] = [...server.sockets];
    const closed = once(socket as Socket, 'close');
    if (way === 'close') one.close();
    else one.closeOrigin(`http://127.0.0.1:${server.port}`);
    // Idle connections are kept for seconds, but they let the process end.
    await closed;
    expect(server.sockets.size).toBe(0);
  },
);
