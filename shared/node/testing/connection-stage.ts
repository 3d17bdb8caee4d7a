/** Stage of tests of `RangeConnection` and its `AnswerReader`; for Jest only. */

import type { Socket } from 'node:net';
import { afterEach, expect } from '@jest/globals';
import type { RangeConnectionOptions } from '../connection-state.ts';
import { RangeConnection } from '../range-connection.ts';
import { AnsweringServer } from './answering-server.ts';

export const REQUEST = 'GET /f HTTP/1.1\r\nHost: x\r\n\r\n';

/** Returns an answer with a body. @param fields header fields besides the length */
export const response = (body: Buffer, ...fields: string[]) =>
  Buffer.concat([
    Buffer.from(
      `${['HTTP/1.1 206 Partial', `Content-Length: ${body.length}`, ...fields].join('\r\n')}\r\n\r\n`,
    ),
    body,
  ]);

/** Returns random bytes. */
export function bytesOf(random: () => number, length: number): Buffer {
  const made = Buffer.alloc(length);
  for (let i = 0; i < length; i++) made[i] = random() * 256;
  return made;
}

/** Resolves when the connection has closed. */
export const gone = (connection: RangeConnection) =>
  new Promise<void>((resolve) => {
    connection.onClosed = resolve;
  });

/** Runs one exchange, and checks that nothing is written beside the memory. */
export async function get(connection: RangeConnection, length: number): Promise<Buffer> {
  const memory = Buffer.alloc(length + 32, 0xaa);
  const into = memory.subarray(16, 16 + length);
  let counted = 0;
  await connection.request(REQUEST);
  try {
    await connection.readInto(into, (count) => {
      counted += count;
    });
    expect(counted).toBe(length);
    return into;
  } finally {
    const beside = Buffer.concat([memory.subarray(0, 16), memory.subarray(16 + length)]);
    expect(beside.equals(Buffer.alloc(32, 0xaa))).toBe(true);
  }
}

/** Connections, each to a server of its own. All of them end after the test. */
export class ConnectionStage {
  readonly #servers: AnsweringServer[] = [];
  readonly #connections: RangeConnection[] = [];

  /** Construct it once in a file, outside its tests. */
  constructor() {
    afterEach(async () => {
      for (const connection of this.#connections.splice(0)) connection.destroy();
      await Promise.all(this.#servers.splice(0).map((server) => server.stop()));
    });
  }

  /** Ends of the open connections at their servers. */
  get sockets(): Socket[] {
    return this.#servers.flatMap(({ sockets }) => [...sockets]);
  }

  /** Starts a server that calls `answer` for each request, and connects to it. */
  async connect(
    answer: (socket: Socket, nth: number) => void,
    options: Partial<RangeConnectionOptions> = {},
  ): Promise<RangeConnection> {
    const server = await AnsweringServer.start(answer);
    this.#servers.push(server);
    const connection = new RangeConnection(new URL(`http://127.0.0.1:${server.port}/`), {
      timeoutMs: 10_000,
      connectTimeoutMs: 10_000,
      ...options,
    });
    this.#connections.push(connection);
    return connection;
  }
}
