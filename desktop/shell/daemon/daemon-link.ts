/**
 * The app's connection to the daemon. Commands use the WebSocket of newer Nodes; this connection
 * has to work on any Node that Electron contains.
 */

import { once } from 'node:events';
import { MillraceError } from '@millrace/shared/base/errors';
import type { MethodName, ParamsIf, ResultOf } from '@millrace/shared/bridge/contract/contract';
import { CallLost, Calls } from '@millrace/shared/bridge/rpc/calls';
import WebSocket from 'ws';

/** Longest time for a daemon to take the connection; one that reads a long list may be busy for some seconds. */
const CONNECT_TIMEOUT_MS = 15_000;
/** Most bytes of a message, as at the daemon. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

export class DaemonLink {
  readonly closed: Promise<void>;
  readonly #socket: WebSocket;
  readonly #calls: Calls;
  #listener: (method: string, params: readonly unknown[]) => void = () => {};

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    this.#calls = new Calls({
      socket: () => socket,
      wait: (run, ms) => {
        const timer = setTimeout(run, ms);
        return () => clearTimeout(timer);
      },
      onNotification: (method, params) => this.#listener(method, params),
    });
    socket.on('message', (data) => this.#calls.onMessage(String(data)));
    socket.on('error', () => socket.terminate());
    this.closed = new Promise((resolve) => {
      socket.on('close', () => {
        this.#calls.onEnd();
        resolve();
      });
    });
  }

  /** Connects to the daemon. @throws Error without an answer */
  static async connect(at: { readonly ws: string; readonly token: string }): Promise<DaemonLink> {
    const socket = new WebSocket(at.ws, {
      headers: { authorization: `Bearer ${at.token}` },
      handshakeTimeout: CONNECT_TIMEOUT_MS,
      maxPayload: MAX_MESSAGE_BYTES,
      perMessageDeflate: false,
    });
    // Listens from now on: an error between two listeners would be one of the whole app.
    const link = new DaemonLink(socket);
    await once(socket, 'open');
    return link;
  }

  onNotification(listener: (method: string, params: readonly unknown[]) => void): void {
    this.#listener = listener;
  }

  /**
   * Calls a method of the contract.
   *
   * @throws Error with the daemon's message, or MillraceError `daemon-silent`, `daemon-not-running`
   */
  async call<M extends MethodName>(method: M, ...params: ParamsIf<M>): Promise<ResultOf<M>> {
    try {
      return (await this.#calls.call(method, [params[0] ?? {}])) as ResultOf<M>;
    } catch (error) {
      if (!(error instanceof CallLost)) throw error;
      throw new MillraceError(error.reason === 'silent' ? 'daemon-silent' : 'daemon-not-running');
    }
  }

  close(): void {
    this.#socket.close();
  }
}
