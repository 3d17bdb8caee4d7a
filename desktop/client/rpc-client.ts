/** A client of the daemon: calls and notifications over one WebSocket. */

import { MillraceError } from '@millrace/shared/base/errors';
import { type JsonRpcId, parseFromServer } from '@millrace/shared/bridge/rpc/json-rpc';
import { RpcError } from '../engine/rpc/calls/rpc-error.ts';

export { findDaemon } from '../local/daemon-address.ts';

interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

const CONNECT_TIMEOUT_MS = 5000;

export class RpcClient {
  readonly #socket: WebSocket;
  readonly #token: string;
  readonly #waiting = new Map<JsonRpcId, Waiting>();
  readonly #listeners = new Set<(method: string, params: readonly unknown[]) => void>();
  readonly #closed = Promise.withResolvers<void>();
  #nextId = 1;

  private constructor(socket: WebSocket, token: string) {
    this.#socket = socket;
    this.#token = token;
    socket.addEventListener('message', ({ data }) => this.#onMessage(String(data)));
    socket.addEventListener('close', () => this.#onClose());
  }

  /** @throws MillraceError `daemon-not-running` if nobody answers */
  static async connect(at: { readonly ws: string; readonly token: string }): Promise<RpcClient> {
    // Shown at once, long messages are taken (an import of many downloads).
    const headers = { authorization: `Bearer ${at.token}` };
    const socket = new WebSocket(at.ws, { headers });
    await new Promise<void>((resolve, reject) => {
      const fail = () => {
        reject(new MillraceError('daemon-not-running', at.ws));
        socket.close();
      };
      const timer = setTimeout(fail, CONNECT_TIMEOUT_MS);
      const settle = (then: () => void) => () => {
        clearTimeout(timer);
        then();
      };
      socket.addEventListener('open', settle(resolve), { once: true });
      socket.addEventListener('error', settle(fail), { once: true });
      socket.addEventListener('close', settle(fail), { once: true });
    });
    return new RpcClient(socket, at.token);
  }

  /** Resolves when the connection has ended, from whichever side. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  /**
   * Calls a method of ours.
   *
   * @throws RpcError; its `data` has code, advice and exit status (`FailureData`) where the error is
   *   one of the table
   */
  call<T>(method: string, params?: object): Promise<T> {
    return this.callList(method, ...(params === undefined ? [] : [params]));
  }

  /** Calls a method that takes a list of parameters. */
  callList<T>(method: string, ...params: readonly unknown[]): Promise<T> {
    const id = this.#nextId++;
    const message = { jsonrpc: '2.0', id, method, params: [`token:${this.#token}`, ...params] };
    return new Promise((resolve, reject) => {
      if (this.#socket.readyState !== WebSocket.OPEN) {
        return reject(new MillraceError('daemon-not-running', 'the connection has ended'));
      }
      this.#waiting.set(id, { resolve: resolve as (result: unknown) => void, reject });
      this.#socket.send(JSON.stringify(message));
    });
  }

  onNotification(listener: (method: string, params: readonly unknown[]) => void): void {
    this.#listeners.add(listener);
  }

  close(): void {
    this.#socket.close();
  }

  #onMessage(text: string): void {
    const message = parseFromServer(JSON.parse(text));
    if (message === undefined) return;
    if ('method' in message) {
      for (const listener of this.#listeners) listener(message.method, message.params);
      return;
    }
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if ('error' in message) waiting?.reject(new RpcError(message.error));
    else waiting?.resolve(message.result);
  }

  #onClose(): void {
    for (const { reject } of this.#waiting.values()) {
      reject(new MillraceError('daemon-not-running', 'the connection has ended'));
    }
    this.#waiting.clear();
    this.#closed.resolve();
  }
}
