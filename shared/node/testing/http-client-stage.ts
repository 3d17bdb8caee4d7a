/** Stage of tests of `HttpClient`; for Jest only. */

import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, jest } from '@jest/globals';
import { HttpClient, type HttpStream } from '../http-client.ts';

export const forEver = new AbortController().signal;
export const OK = 'HTTP/1.1 200 OK\r\n';
export const HELLO = `${OK}Content-Length: 5\r\nETag: "a"\r\n\r\nhello`;

export interface Served {
  readonly url: URL;
  readonly heads: string[];
  connections: number;
}

/** Clients, and servers whose answers a test writes. All of them end after the test. */
export class HttpClientStage {
  /** Ends of the open connections at the servers. */
  readonly sockets = new Set<Socket>();
  readonly #servers: Server[] = [];
  readonly #clients: HttpClient[] = [];

  /** Construct it once in a file, outside its tests. */
  constructor() {
    afterEach(async () => {
      jest.restoreAllMocks();
      for (const client of this.#clients.splice(0)) client.close();
      for (const socket of this.sockets) socket.destroy();
      const servers = this.#servers.splice(0);
      await Promise.all(servers.map((server) => once(server.close(), 'close')));
    });
  }

  /**
   * Starts a server.
   *
   * @param answer gets the number of the request, from 0
   */
  async serve(answer: (socket: Socket, all: number) => void): Promise<Served> {
    const server = createServer({ noDelay: true, allowHalfOpen: true }, (socket) => {
      served.connections++;
      this.sockets.add(socket);
      socket.on('close', () => this.sockets.delete(socket));
      socket.on('error', () => {});
      socket.on('end', () => socket.end());
      let head = '';
      socket.on('data', (data) => {
        head += data.toString('latin1');
        if (!head.endsWith('\r\n\r\n')) return;
        served.heads.push(head);
        head = '';
        answer(socket, served.heads.length - 1);
      });
    });
    this.#servers.push(server);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const url = new URL(`http://127.0.0.1:${port}/f?x=1`);
    const served: Served = { url, heads: [], connections: 0 };
    return served;
  }

  /** Has the server that started last accept no more connections. */
  close(): void {
    this.#servers.pop()?.close();
  }

  client(timeoutMs = 10_000): HttpClient {
    const limits = { timeoutMs, connectTimeoutMs: 10_000, headTimeoutMs: timeoutMs };
    const made = new HttpClient({ connections: 1, ...limits });
    this.#clients.push(made);
    return made;
  }

  /** Waits until no server has a connection. */
  async allGone(): Promise<void> {
    while (this.sockets.size > 0) await settle();
  }
}

/** Reads a body to its end. */
export async function read(response: HttpStream): Promise<Buffer> {
  const pieces: Buffer[] = [];
  await response.pipe((piece) => {
    pieces.push(Buffer.from(piece));
    return true;
  });
  return Buffer.concat(pieces);
}

/** Requests the file of a server, and reads its body. */
export const text = async (from: HttpClient, { url }: Served): Promise<string> =>
  (await read(await from.get(url, {}, forEver))).toString('latin1');

/** Waits for the events that are due. */
export const settle = () => new Promise((resolve) => setImmediate(resolve));
