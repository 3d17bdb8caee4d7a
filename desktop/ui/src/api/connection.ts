/** The connection to the daemon: one WebSocket, made again whenever it breaks. */

import type { MethodName, ParamsOf, ResultOf } from '@millrace/shared/bridge/contract/contract';
import { RPC_PATH, SESSION_ENDED } from '@millrace/shared/bridge/page/session-api';
import type { FailureData } from '@millrace/shared/bridge/rpc/daemon-api';
import { isObject, parseFromServer } from '@millrace/shared/bridge/rpc/json-rpc';
import { retryDelay } from './retry-delay.ts';
import { hasSession } from './session.ts';

/** A call that failed: refused by the daemon, or lost with the connection. */
export class CallError extends Error {
  /** A code of the table of errors; `connection` if there was no answer. */
  readonly code: string;
  readonly detail: string;

  constructor(code: string, message: string, detail = '') {
    super(message);
    this.code = code;
    this.detail = detail;
  }
}

export type LinkState =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'open' }
  /** retryAt: Unix milliseconds of the next attempt. */
  | { readonly kind: 'lost'; readonly retryAt: number }
  | { readonly kind: 'logged-out' };

export interface ConnectionEvents {
  /** Connected, for the first time or again: before this, nothing that was asked for is watched. */
  onOpen(): void;
  onState(state: LinkState): void;
  onNotification(method: string, param: unknown): void;
}

interface Waiting {
  resolve(result: unknown): void;
  reject(error: CallError): void;
}

/** A daemon that says nothing for so long to a call is taken for lost. */
const SILENT_MS = 30_000;

export class Connection {
  readonly #events: ConnectionEvents;
  readonly #waiting = new Map<number, Waiting>();
  #socket: WebSocket | undefined;
  #nextId = 1;
  #attempt = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(events: ConnectionEvents) {
    this.#events = events;
  }

  /** Connects, at once; also while waiting for the next attempt. */
  connect(): void {
    clearTimeout(this.#timer);
    this.#socket?.close();
    const scheme = location.protocol === 'https:' ? 'wss:' : 'ws:';
    const socket = new WebSocket(`${scheme}//${location.host}${RPC_PATH}`);
    this.#socket = socket;
    socket.addEventListener('open', () => {
      this.#attempt = 0;
      this.#events.onState({ kind: 'open' });
      this.#events.onOpen();
    });
    socket.addEventListener('message', ({ data }) => this.#onMessage(String(data)));
    socket.addEventListener('close', ({ code }) => {
      if (this.#socket !== socket) return;
      this.#socket = undefined;
      this.#failAll();
      if (code === SESSION_ENDED) this.#events.onState({ kind: 'logged-out' });
      else void this.#afterLoss();
    });
  }

  /** Ends the connection for good. */
  close(): void {
    clearTimeout(this.#timer);
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.close();
    this.#failAll();
  }

  /** @throws CallError */
  call<M extends MethodName>(method: M, params: ParamsOf<M>): Promise<ResultOf<M>> {
    const socket = this.#socket;
    if (socket?.readyState !== WebSocket.OPEN) return Promise.reject(lost());
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => socket.close(), SILENT_MS);
      this.#waiting.set(id, {
        resolve: (result) => {
          clearTimeout(timer);
          resolve(result as ResultOf<M>);
        },
        reject: (error) => {
          clearTimeout(timer);
          reject(error);
        },
      });
      socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params: [params] }));
    });
  }

  async #afterLoss(): Promise<void> {
    // A handshake that was refused looks like any other loss: the session is asked about.
    const delay = retryDelay(this.#attempt++, Math.random);
    this.#events.onState({ kind: 'lost', retryAt: Date.now() + delay });
    const answer = await hasSession();
    if (this.#socket !== undefined) return;
    if (answer === 'refused') {
      this.#events.onState({ kind: 'logged-out' });
      return;
    }
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.connect(), delay);
  }

  #onMessage(data: string): void {
    let message: ReturnType<typeof parseFromServer>;
    try {
      message = parseFromServer(JSON.parse(data));
    } catch {
      return;
    }
    if (message === undefined) return;
    if ('method' in message) {
      this.#events.onNotification(message.method, message.params[0]);
      return;
    }
    const waiting = this.#waiting.get(Number(message.id));
    this.#waiting.delete(Number(message.id));
    if ('error' in message) waiting?.reject(toCallError(message.error));
    else waiting?.resolve(message.result);
  }

  #failAll(): void {
    for (const { reject } of this.#waiting.values()) reject(lost());
    this.#waiting.clear();
  }
}

function lost(): CallError {
  return new CallError('connection', '');
}

function toCallError({ message, data }: { message: string; data?: unknown }): CallError {
  const failure = isObject(data) ? (data as unknown as Partial<FailureData>) : {};
  return new CallError(failure.code ?? '', message, failure.detail ?? '');
}
