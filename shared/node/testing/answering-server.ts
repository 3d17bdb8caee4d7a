/** A server whose answers a test writes itself, to the byte; for tests only. */

import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

/**
 * Writes the answer to a request.
 *
 * @param count requests that the server got before, from 0
 * @param nth requests that it got before on the same connection, from 0
 */
type Answer = (socket: Socket, count: number, nth: number) => void;

export class AnsweringServer {
  /** Connections that are open. */
  readonly sockets = new Set<Socket>();
  /** Requests that the server got. */
  readonly heads: readonly string[];
  /** Connections that were made. */
  connections = 0;
  /** Most connections that were open at once. */
  mostAtOnce = 0;
  readonly #server: Server;

  private constructor(answer: Answer, heads: string[]) {
    this.heads = heads;
    this.#server = createServer({ noDelay: true }, (socket) => {
      this.sockets.add(socket);
      this.connections++;
      this.mostAtOnce = Math.max(this.mostAtOnce, this.sockets.size);
      socket.on('close', () => this.sockets.delete(socket));
      socket.on('error', () => {});
      let nth = 0;
      let head = '';
      socket.on('data', (data) => {
        head += data.toString('latin1');
        if (!head.endsWith('\r\n\r\n')) return;
        heads.push(head);
        head = '';
        answer(socket, heads.length - 1, nth++);
      });
    });
  }

  /** Starts a server on loopback. @param heads gets the requests, which have no bodies */
  static async start(answer: Answer, heads: string[] = []): Promise<AnsweringServer> {
    const made = new AnsweringServer(answer, heads);
    await once(made.#server.listen(0, '127.0.0.1'), 'listening');
    return made;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Accepts no more connections. @returns when those that are open have ended */
  async end(): Promise<void> {
    await once(this.#server.close(), 'close');
  }

  /** Ends the server and its connections. */
  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    for (const socket of this.sockets) socket.destroy();
    await this.end();
  }
}
