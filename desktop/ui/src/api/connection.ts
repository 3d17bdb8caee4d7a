/** The page's connection to the daemon: one WebSocket, opened again whenever it breaks. */

import type { Particulars } from '@millrace/shared/base/error-table/particulars';
import type { MethodName, ParamsOf, ResultOf } from '@millrace/shared/bridge/contract/contract';
import { RPC_PATH, SESSION_ENDED } from '@millrace/shared/bridge/page/session-api';
import { CallLost, Calls } from '@millrace/shared/bridge/rpc/calls';
import type { FailureData } from '@millrace/shared/bridge/rpc/daemon-api';
import { isObject, RpcError } from '@millrace/shared/bridge/rpc/json-rpc';
import { retryDelay } from './retry-delay.ts';
import { hasSession } from './session.ts';

/** Longest time, ms, for which a call waits for the page's first connection. */
const FIRST_CONNECT_MS = 10_000;

/** A call that failed: refused by the daemon, or lost with the connection. */
export class CallError extends Error {
  /** Code of the table of errors; `connection` if there was no answer. */
  readonly code: string;
  readonly detail: string;
  /** The detail as data, for other languages than English. */
  readonly particulars: Particulars | undefined;

  constructor(code: string, message: string, detail = '', particulars?: Particulars) {
    super(message);
    this.code = code;
    this.detail = detail;
    this.particulars = particulars;
  }
}

export type LinkState =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'open' }
  /** `retryAt`: time of the next attempt, Unix milliseconds. */
  | { readonly kind: 'lost'; readonly retryAt: number }
  | { readonly kind: 'logged-out' };

export interface ConnectionEvents {
  /** Called after each connect: a new connection watches nothing until it is asked to. */
  onOpen(): void;
  onState(state: LinkState): void;
  onNotification(method: string, param: unknown): void;
}

export class Connection {
  readonly #events: ConnectionEvents;
  readonly #calls: Calls;
  #socket: WebSocket | undefined;
  #attempt = 0;
  /** True from the loss of a connection until there is another one. */
  #isLost = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(events: ConnectionEvents) {
    this.#events = events;
    this.#calls = new Calls({
      socket: () => this.#socket,
      wait: (run, ms) => {
        const timer = setTimeout(run, ms);
        return () => clearTimeout(timer);
      },
      onNotification: (method, [param]) => events.onNotification(method, param),
    });
  }

  /** Connects at once, even while waiting for the next attempt. */
  connect(): void {
    clearTimeout(this.#timer);
    this.#socket?.close();
    const scheme = location.protocol === 'https:' ? 'wss:' : 'ws:';
    const socket = new WebSocket(`${scheme}//${location.host}${RPC_PATH}`);
    this.#socket = socket;
    socket.addEventListener('open', () => {
      this.#attempt = 0;
      this.#isLost = false;
      this.#events.onState({ kind: 'open' });
      this.#events.onOpen();
    });
    socket.addEventListener('message', ({ data }) => this.#calls.onMessage(String(data)));
    socket.addEventListener('close', ({ code }) => {
      if (this.#socket !== socket) return;
      this.#socket = undefined;
      this.#calls.onEnd();
      this.#isLost = code !== SESSION_ENDED;
      if (this.#isLost) void this.#afterLoss();
      else this.#events.onState({ kind: 'logged-out' });
    });
  }

  /** Ends the connection for good. */
  close(): void {
    clearTimeout(this.#timer);
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.close();
    this.#calls.onEnd();
  }

  /**
   * Calls a method, once the page's first connection is open. While a lost connection is made anew,
   * calls fail at once: the page says that the daemon is away, and what its user then clicks must not
   * happen at a later time, unseen.
   *
   * @throws CallError
   */
  async call<M extends MethodName>(method: M, params: ParamsOf<M>): Promise<ResultOf<M>> {
    const socket = this.#socket;
    if (socket?.readyState === WebSocket.CONNECTING && !this.#isLost) await hasSettled(socket);
    try {
      return (await this.#calls.call(method, [params])) as ResultOf<M>;
    } catch (error) {
      // A daemon that does not answer in time is taken for lost.
      if (error instanceof CallLost && error.reason === 'silent') socket?.close();
      throw toCallError(error);
    }
  }

  async #afterLoss(): Promise<void> {
    // A refused handshake looks like any other loss, so the page asks about its session.
    const delay = retryDelay(this.#attempt++, Math.random);
    this.#events.onState({ kind: 'lost', retryAt: Date.now() + delay });
    const answer = await hasSession();
    if (this.#socket !== undefined) return;
    if (answer === 'refused') {
      this.#isLost = false;
      this.#events.onState({ kind: 'logged-out' });
      return;
    }
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.connect(), delay);
  }
}

/** Resolves once a socket is open or closed, or has been neither for too long. */
function hasSettled(socket: WebSocket): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, FIRST_CONNECT_MS);
    for (const event of ['open', 'close']) {
      socket.addEventListener(event, () => {
        clearTimeout(timer);
        resolve();
      });
    }
  });
}

function toCallError(error: unknown): CallError {
  if (!(error instanceof RpcError)) return new CallError('connection', '');
  const failure = isObject(error.data) ? (error.data as Partial<FailureData>) : {};
  return new CallError(
    failure.code ?? '',
    error.message,
    failure.detail ?? '',
    failure.particulars,
  );
}
