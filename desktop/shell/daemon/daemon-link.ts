/**
 * Calls and notifications over one WebSocket. The engine has such a client too, on the WebSocket of
 * newer Nodes; this one has to run on whatever Node is in Electron.
 */

import { once } from 'node:events';
import { MillraceError } from '@millrace/shared/base/errors';
import type { MethodName, ParamsIf, ResultOf } from '@millrace/shared/bridge/contract/contract';
import { parseFromServer } from '@millrace/shared/bridge/rpc/json-rpc';
import WebSocket from 'ws';

const CONNECT_TIMEOUT_MS = 5000;
const CALL_TIMEOUT_MS = 30_000;
/** As much as the daemon takes. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
  readonly timer: NodeJS.Timeout;
}

export class DaemonLink {
  readonly closed: Promise<void>;
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, Waiting>();
  #listener: (method: string, params: readonly unknown[]) => void = () => {};
  #nextId = 1;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('message', (data) => this.#onMessage(String(data)));
    socket.on('error', () => socket.terminate());
    this.closed = new Promise((resolve) => {
      socket.on('close', () => {
        for (const id of [...this.#waiting.keys()]) this.#settle(id)?.reject(gone());
        resolve();
      });
    });
  }

  /** @throws Error if nobody answers there */
  static async connect(at: { readonly ws: string; readonly token: string }): Promise<DaemonLink> {
    const socket = new WebSocket(at.ws, {
      headers: { authorization: `Bearer ${at.token}` },
      handshakeTimeout: CONNECT_TIMEOUT_MS,
      maxPayload: MAX_MESSAGE_BYTES,
      perMessageDeflate: false,
    });
    await once(socket, 'open');
    return new DaemonLink(socket);
  }

  onNotification(listener: (method: string, params: readonly unknown[]) => void): void {
    this.#listener = listener;
  }

  /**
   * Calls a method of the contract.
   *
   * @throws Error with the daemon's message, or MillraceError `daemon-silent`, `daemon-not-running`
   */
  call<M extends MethodName>(method: M, ...params: ParamsIf<M>): Promise<ResultOf<M>> {
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      if (this.#socket.readyState !== WebSocket.OPEN) return reject(gone());
      const timer = setTimeout(
        () => this.#settle(id)?.reject(new MillraceError('daemon-silent')),
        CALL_TIMEOUT_MS,
      );
      this.#waiting.set(id, { resolve: resolve as (result: unknown) => void, reject, timer });
      const given = [params[0] ?? {}];
      this.#socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params: given }));
    });
  }

  close(): void {
    this.#socket.close();
  }

  #onMessage(text: string): void {
    const message = parseFromServer(JSON.parse(text));
    if (message === undefined) return;
    if ('method' in message) return this.#listener(message.method, message.params);
    const waiting = this.#settle(Number(message.id));
    if ('error' in message) waiting?.reject(new Error(message.error.message));
    else waiting?.resolve(message.result);
  }

  #settle(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (waiting !== undefined) clearTimeout(waiting.timer);
    return waiting;
  }
}

function gone(): MillraceError {
  return new MillraceError('daemon-not-running', 'the connection has ended');
}
