/** Shared parts of proxies for tests: a free port, tunnels, and a stop for all of them. */

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

  /** Stops the proxy, and ends all its connections. */
  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  /**
   * Connects a client with a port of this machine: only the proxy knows where names lead.
   *
   * @param onOpen called once the port is connected, before any bytes pass
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
