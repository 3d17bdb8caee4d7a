import { once } from 'node:events';
import { type ClientHttp2Session, connect } from 'node:http2';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { H2Sessions, type TakeRequest } from './h2-sessions.ts';

const IDLE_MS = 50;
const ending: (() => void)[] = [];

afterEach(() => {
  for (const end of ending.splice(0)) end();
});

/** A server without TLS, whose clients know that it speaks HTTP/2. */
async function setUp(take: TakeRequest, idleMs?: number) {
  const sessions = new H2Sessions(take, idleMs);
  const server: Server = createServer((socket) => sessions.take(socket)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client: ClientHttp2Session = connect(
    `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  );
  client.on('error', () => {});
  ending.push(() => {
    client.destroy();
    sessions.destroy();
    server.close();
  });
  return { sessions, client };
}

describe('H2Sessions', () => {
  test('ends a connection without streams, however many other frames come on it', async () => {
    const { client, sessions } = await setUp(() => {}, IDLE_MS);
    const closed = once(client, 'close');
    const goAway = once(client, 'goaway');
    const ping = () => {
      if (!client.destroyed) client.ping(() => setImmediate(ping));
    };
    client.once('connect', ping);
    const [code] = (await goAway) as [number];
    await closed;
    expect(code).toBe(0);
    // The server hears of the end a little later; if it never does, the test does not end.
    while (sessions.count > 0) await new Promise((resolve) => setImmediate(resolve));
  });

  test('gives requests their Host, as with HTTP/1.1', async () => {
    const take = jest.fn<TakeRequest>((_req, res) => void res.end('fine'));
    const { client } = await setUp(take);
    const stream = client.request({ ':path': '/', ':authority': 'edge.example' }).resume();
    await once(stream, 'close');
    expect(take.mock.calls[0]?.[0].headers.host).toBe('edge.example');
  });

  test('lets no client open streams after a GOAWAY, and finishes open ones', async () => {
    let finish = () => {};
    const { client, sessions } = await setUp((_req, res) => {
      finish = () => void res.end('all of it');
      res.write('begun, ');
    });
    const stream = client.request({ ':path': '/' }).setEncoding('utf8');
    await once(stream, 'response');
    const goAway = once(client, 'goaway');
    sessions.goAway();
    await goAway;
    finish();
    expect((await stream.toArray()).join('')).toBe('begun, all of it');
  });
});
