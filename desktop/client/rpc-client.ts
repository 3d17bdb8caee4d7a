/** A client of the daemon: calls and notifications over one WebSocket. */

import { MillraceError } from '@millrace/shared/base/errors';
import { CallLost, Calls } from '@millrace/shared/bridge/rpc/calls';

export { findDaemon } from '../local/daemon-address.ts';

const CONNECT_TIMEOUT_MS = 5000;

export class RpcClient {
  readonly #socket: WebSocket;
  readonly #token: string;
  readonly #calls: Calls;
  readonly #listeners = new Set<(method: string, params: readonly unknown[]) => void>();
  readonly #closed = Promise.withResolvers<void>();

  private constructor(socket: WebSocket, token: string) {
    this.#socket = socket;
    this.#token = token;
    this.#calls = new Calls({
      socket: () => socket,
      wait: (run, ms) => {
        const timer = setTimeout(run, ms);
        return () => clearTimeout(timer);
      },
      onNotification: (method, params) => {
        for (const listener of this.#listeners) listener(method, params);
      },
    });
    socket.addEventListener('message', ({ data }) => this.#calls.onMessage(String(data)));
    socket.addEventListener('close', () => {
      this.#calls.onEnd();
      this.#closed.resolve();
    });
  }

  /** Connects to the daemon. @throws MillraceError `daemon-not-running` without an answer */
  static async connect(at: { readonly ws: string; readonly token: string }): Promise<RpcClient> {
    // A connection that shows the token at once may send long messages, such as large imports.
    const headers = { authorization: `Bearer ${at.token}` };
    const socket = new WebSocket(at.ws, { headers });
    await new Promise<void>((resolve, reject) => {
      let why = at.ws;
      const fail = () => {
        reject(new MillraceError('daemon-not-running', why));
        socket.close();
      };
      const timer = setTimeout(fail, CONNECT_TIMEOUT_MS);
      const settle = (then: () => void) => () => {
        clearTimeout(timer);
        then();
      };
      socket.addEventListener('error', (event) => {
        why = (event as { readonly message?: string }).message || why;
      });
      socket.addEventListener('open', settle(resolve), { once: true });
      socket.addEventListener('error', settle(fail), { once: true });
      socket.addEventListener('close', settle(fail), { once: true });
    });
    return new RpcClient(socket, at.token);
  }

  /** Resolves when either side has ended the connection. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  /**
   * Calls one of Millrace's own methods.
   *
   * @throws RpcError; its `data` has code, advice and exit status (`FailureData`) where the error
   * is one of the table
   * @throws MillraceError `daemon-not-running`, `daemon-silent` without an answer
   */
  call<T>(method: string, params?: object): Promise<T> {
    return this.callList(method, ...(params === undefined ? [] : [params]));
  }

  /** Calls a method that takes a list of parameters. */
  async callList<T>(method: string, ...params: readonly unknown[]): Promise<T> {
    try {
      return (await this.#calls.call(method, [`token:${this.#token}`, ...params])) as T;
    } catch (error) {
      if (!(error instanceof CallLost)) throw error;
      if (error.reason === 'silent') throw new MillraceError('daemon-silent');
      throw new MillraceError('daemon-not-running', 'the connection has ended');
    }
  }

  onNotification(listener: (method: string, params: readonly unknown[]) => void): void {
    this.#listeners.add(listener);
  }

  close(): void {
    this.#socket.close();
  }
}
