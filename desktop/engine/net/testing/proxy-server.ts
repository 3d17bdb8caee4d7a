/** Parts that proxies for tests share: a free port, tunnels, and an end of everything. */

import { once } from 'node:events';
import { type AddressInfo, connect, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';

export abstract class ProxyServer {
  readonly #server: Server;
  readonly #sockets = new Set<Duplex>();

  protected constructor(server: Server) {
    this.#server = server;
    server.on('connection', (socket) => this.#track(socket));
  }

  protected async listen(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Ends it, and all its connections. */
  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  /**
   * Joins a client with a port of this machine: only the proxy knows where names lead.
   *
   * @param onOpen called when the far end is there, before anything goes through
   */
  protected tunnel(client: Duplex, port: number, onOpen: () => void): Socket {
    const origin = connect(port, '127.0.0.1', () => {
      onOpen();
      client.pipe(origin).pipe(client);
    });
    this.#track(client);
    this.#track(origin);
    client.on('close', () => origin.destroy());
    return origin;
  }

  #track(socket: Duplex): void {
    if (this.#sockets.has(socket)) return;
    this.#sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => this.#sockets.delete(socket));
  }
}
