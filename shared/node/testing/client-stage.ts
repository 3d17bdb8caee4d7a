/** Stage of tests of `RangeClient`; for Jest only. */

import type { Socket } from 'node:net';
import { afterEach } from '@jest/globals';
import { RangeClient } from '../range-client.ts';
import { AnsweringServer } from './answering-server.ts';

export const BODY = Buffer.from('0123456789');
export const ANSWER = `HTTP/1.1 206 OK\r\nContent-Length: 10\r\n\r\n${BODY}`;
export const forEver = new AbortController().signal;

/** A server with the requests and connections that it has seen, and the URL of its file. */
export type Seen = AnsweringServer & { readonly url: URL };

/** Requests the file of a server, and reads a body of 10 bytes. */
export async function get(from: RangeClient, { url }: Seen, signal = forEver): Promise<string> {
  const response = await from.open(url, {}, signal);
  const into = Buffer.alloc(10);
  await response.readInto(into, () => {});
  return into.toString();
}

/** Clients and servers. All of them end after the test. */
export class ClientStage {
  readonly #servers: AnsweringServer[] = [];
  readonly #clients: RangeClient[] = [];

  /** Construct it once in a file, outside its tests. */
  constructor() {
    afterEach(async () => {
      for (const client of this.#clients.splice(0)) client.close();
      await Promise.all(this.#servers.splice(0).map((server) => server.stop()));
    });
  }

  /** Starts a server. @param answer gets the number of the request on its connection, and overall */
  async serve(answer: (socket: Socket, nth: number, all: number) => void): Promise<Seen> {
    const server = await AnsweringServer.start((socket, all, nth) => answer(socket, nth, all));
    this.#servers.push(server);
    return Object.assign(server, { url: new URL(`http://127.0.0.1:${server.port}/f?x=1`) });
  }

  /** Starts a server that answers each request with `BODY`, and keeps its connections. */
  keepOpen(): Promise<Seen> {
    return this.serve((socket) => socket.write(ANSWER));
  }

  client(connections = 1): RangeClient {
    const limits = { timeoutMs: 10_000, connectTimeoutMs: 10_000 };
    const made = new RangeClient({ connections, ...limits });
    this.#clients.push(made);
    return made;
  }
}
