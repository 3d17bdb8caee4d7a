/**
 * Connections of clients over all ports: how many each client has, and which one makes room when
 * all are taken. `ConnectionPlaces` decides; this file reports sockets to it and closes them.
 */

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ConnectionPlaces, type Displaced } from '@millrace/shared/cdn/admission/connection-places';
import { clientKey } from '@millrace/shared/node/clients/client-key';
import { bottomSocket, resetConnection } from '@millrace/shared/node/reset-connection';
import type { OnRefusal } from '../admission/admissions.ts';
import { connectionOf } from './connection.ts';

/** Idle connections that are kept when memory is short. */
const FEW_IDLE = 1000;

export interface ConnectionLimitOptions {
  /** Connections at a time. */
  readonly max: number;
  /** Connections in use that one client keeps, even if others want one. */
  readonly share: number;
  /** True for the address of a trusted proxy, which carries connections of many clients. */
  readonly isTrusted: (address: string) => boolean;
  readonly onRefusal: OnRefusal;
  /** Called for each new connection that is turned away. */
  readonly onTurnedAway: () => void;
}

/** A server that takes connections, with or without TLS. */
export type Listener = Pick<Server, 'on'>;

export class ConnectionLimit {
  readonly #options: ConnectionLimitOptions;
  readonly #places: ConnectionPlaces<Socket>;
  #idleBefore = new WeakSet<Socket>();

  constructor(options: ConnectionLimitOptions) {
    this.#options = options;
    this.#places = new ConnectionPlaces(options);
  }

  /** Connections open. */
  get count(): number {
    return this.#places.size;
  }

  /** Counts the connections of a port from now on. */
  watch(server: Listener): void {
    server.on('connection', (socket: Socket) => this.#taken(socket));
  }

  /** Tracks which connections are in use. @param server that emits their requests */
  watchRequests(server: Listener): void {
    server.on('request', (req: IncomingMessage, res: ServerResponse) => {
      const socket = bottomSocket(connectionOf(req, res));
      if (!this.#places.has(socket)) return;
      this.#places.begin(socket);
      res.once('close', () => this.#places.end(socket));
    });
  }

  /** Marks the sender as another node: its connection never makes room. */
  readonly trust = (req: IncomingMessage): void => {
    this.#places.trust(bottomSocket(req.socket));
  };

  /**
   * Closes connections that are idle now and were idle at the previous call, down to `FEW_IDLE`. A
   * request may still be on its way on any of them.
   */
  closeIdle(): void {
    const idle = [...this.#places.idle()];
    const still = idle.filter((socket) => this.#idleBefore.has(socket));
    for (const socket of still.slice(0, Math.max(0, idle.length - FEW_IDLE))) socket.destroy();
    this.#idleBefore = new WeakSet(idle);
  }

  #taken(socket: Socket): void {
    const { remoteAddress } = socket;
    // Closed by the client before it was accepted: there is nothing to count.
    if (remoteAddress === undefined || socket.destroyed) return;
    const client = this.#options.isTrusted(remoteAddress) ? undefined : clientKey(remoteAddress);
    const displaced = this.#places.add(socket, client);
    if (displaced?.connection !== socket) {
      socket.once('close', () => this.#places.delete(socket));
    }
    if (displaced !== undefined) this.#close(displaced, socket);
  }

  #close({ connection, client, inUse }: Displaced<Socket>, newcomer: Socket): void {
    const { onRefusal, onTurnedAway } = this.#options;
    const turnedAway = connection === newcomer;
    const address = client ?? newcomer.remoteAddress ?? '';
    onRefusal('connections', turnedAway ? 'refused' : 'evicted', address);
    if (turnedAway) onTurnedAway();
    // A body that is cut off must not look complete.
    if (inUse) resetConnection(connection);
    else connection.destroy();
  }
}
