import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { listenReady } from './ready-acceptor.ts';

/** Connections that wait together. */
const WAITING = 128;

const turn = () => new Promise((resolve) => setImmediate(resolve));
const onLinux = process.platform === 'linux' ? test : test.skip;

const stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

async function listen(server: Server, port = 0): Promise<number> {
  stops.push(await listenReady(server, { host: '127.0.0.1', port }));
  return (server.address() as AddressInfo).port;
}

onLinux('a flood that waits to be accepted is not accepted one by one', async () => {
  const accepted: Socket[] = [];
  const server = createServer((socket) => accepted.push(socket));
  const port = await listen(server);
  const clients = Array.from({ length: WAITING }, () => connect(port, '127.0.0.1'));
  // The kernel has connected them once these calls return: on loopback no reply is outstanding.
  let turns = 0;
  for (; accepted.length < WAITING; turns++) await turn();
  for (const socket of [...accepted, ...clients]) socket.destroy();
  expect(turns).toBeLessThan(WAITING / 2);
});

test('takes no more connections once it is stopped', async () => {
  const server = createServer();
  const port = await listen(server);
  const closed = once(server, 'close');
  stops.pop()?.();
  await closed;
  const client = connect(port, '127.0.0.1');
  const [error] = (await once(client, 'error')) as [NodeJS.ErrnoException];
  expect(error.code).toBe('ECONNREFUSED');
});

test('a port that another edge of this user shares is in use', async () => {
  const port = await listen(createServer());
  await expect(listen(createServer(), port)).rejects.toMatchObject({ code: 'EADDRINUSE' });
});
