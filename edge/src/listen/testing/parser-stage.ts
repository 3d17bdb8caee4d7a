/** A server and clients that send it raw bytes; for Jest only. All of them end after each test. */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach } from '@jest/globals';
import { handleClientErrors } from '../client-errors.ts';

const ending: (() => void)[] = [];
afterEach(() => {
  for (const end of ending.splice(0)) end();
});

export interface Taken {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
}

/** A server whose requests the test answers itself. */
export async function serve() {
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
export function hurry(server: Server): void {
  server.headersTimeout = 1;
  server.requestTimeout = 1;
}

/** A client that keeps everything that it receives. */
export async function client(server: Server) {
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

/** Sends a text as it is, a byte for each character. */
export const send = (socket: Socket, text: string) => socket.write(Buffer.from(text, 'latin1'));
/** Returns a request without a body. */
export const get = (target: string, version = '1.1', fields = '') =>
  `GET ${target} HTTP/${version}\r\nHost: x\r\n${fields}\r\n`;
