/**
 * Calls under way over one connection to the daemon: numbers them, matches the answers, and ends
 * calls without an answer. Command line, native host, app and page each bring their own socket.
 */

import type { Millis } from '../../base/clock.ts';
import { type JsonRpcId, parseFromServer, RpcError } from './json-rpc.ts';

/** Longest wait for an answer: no successful call takes that long, even with a busy disk. */
const SILENT_MS: Millis = 30_000;

/** A call without an answer: the connection has ended, or the daemon was silent for too long. */
export class CallLost extends Error {
  override readonly name = 'CallLost';
  readonly reason: 'ended' | 'silent';

  constructor(reason: 'ended' | 'silent') {
    super(`no answer: ${reason}`);
    this.reason = reason;
  }
}

/** The part of a WebSocket of any kind that calls need. */
interface Socket {
  readonly readyState: number;
  send(text: string): void;
}

/** WebSocket.OPEN (WHATWG WebSockets). */
const OPEN = 1;

/**
 * Begins to wait, and calls `run` after `ms` milliseconds.
 *
 * @returns a function that ends the wait
 */
type Wait = (run: () => void, ms: Millis) => () => void;

export interface CallsOptions {
  /** The present connection, read at each call. */
  readonly socket: () => Socket | undefined;
  readonly wait: Wait;
  readonly onNotification: (method: string, params: readonly unknown[]) => void;
}

interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
  readonly endWait: () => void;
}

export class Calls {
  readonly #options: CallsOptions;
  readonly #waiting = new Map<JsonRpcId, Waiting>();
  #nextId = 1;

  constructor(options: CallsOptions) {
    this.#options = options;
  }

  /**
   * Makes a call.
   *
   * @param params a list, as in aria2
   * @throws RpcError with the daemon's error; CallLost
   */
  call(method: string, params: readonly unknown[]): Promise<unknown> {
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      const socket = this.#options.socket();
      if (socket?.readyState !== OPEN) return reject(new CallLost('ended'));
      const giveUp = () => this.#take(id)?.reject(new CallLost('silent'));
      this.#waiting.set(id, { resolve, reject, endWait: this.#options.wait(giveUp, SILENT_MS) });
      socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
    });
  }

  /** Handles a received message; ignores text that is not a message of the protocol. */
  onMessage(text: string): void {
    const message = parseFromServer(parsed(text));
    if (message === undefined) return;
    if ('method' in message) {
      return this.#options.onNotification(message.method, message.params);
    }
    const waiting = this.#take(message.id);
    if ('error' in message) waiting?.reject(new RpcError(message.error));
    else waiting?.resolve(message.result);
  }

  /** Ends all calls under way: the connection has ended. */
  onEnd(): void {
    for (const id of [...this.#waiting.keys()]) this.#take(id)?.reject(new CallLost('ended'));
  }

  #take(id: JsonRpcId): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    waiting?.endWait();
    return waiting;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
