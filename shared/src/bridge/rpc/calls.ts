/**
 * Calls under way over one connection to the daemon: gives them their numbers, their answers, and an
 * end where no answer comes. Command line, native host, app and page each bring their own socket.
 */

import type { Millis } from '../../base/clock.ts';
import { type JsonRpcId, parseFromServer, RpcError } from './json-rpc.ts';

/** Longer than any call takes that goes well, even with a busy disk. */
const SILENT_MS: Millis = 30_000;

/** A call without an answer: the connection has ended, or the daemon has been silent for too long. */
export class CallLost extends Error {
  override readonly name = 'CallLost';
  readonly reason: 'ended' | 'silent';

  constructor(reason: 'ended' | 'silent') {
    super(`no answer: ${reason}`);
    this.reason = reason;
  }
}

/** As much of a WebSocket as calls need, of whichever kind it is. */
interface Socket {
  readonly readyState: number;
  send(text: string): void;
}

/** WebSocket.OPEN (WHATWG WebSockets). */
const OPEN = 1;

/** `globalThis` has them. */
interface Timers {
  setTimeout(run: () => void, ms: Millis): unknown;
  clearTimeout(timer: never): void;
}

export interface CallsOptions {
  /** The connection, as it is at each call. */
  readonly socket: () => Socket | undefined;
  readonly timers: Timers;
  readonly onNotification: (method: string, params: readonly unknown[]) => void;
}

interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
  readonly timer: unknown;
}

export class Calls {
  readonly #options: CallsOptions;
  readonly #waiting = new Map<JsonRpcId, Waiting>();
  #nextId = 1;

  constructor(options: CallsOptions) {
    this.#options = options;
  }

  /**
   * @param params as a list, as aria2 has them
   * @throws RpcError as the daemon has it; CallLost
   */
  call(method: string, params: readonly unknown[]): Promise<unknown> {
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      const { timers } = this.#options;
      const socket = this.#options.socket();
      if (socket?.readyState !== OPEN) return reject(new CallLost('ended'));
      const giveUp = () => this.#take(id)?.reject(new CallLost('silent'));
      this.#waiting.set(id, { resolve, reject, timer: timers.setTimeout(giveUp, SILENT_MS) });
      socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
    });
  }

  /** Takes a message from the server. A message outside the protocol is dropped. */
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

  /** The connection has ended: no answer comes any more. */
  onEnd(): void {
    for (const id of [...this.#waiting.keys()]) this.#take(id)?.reject(new CallLost('ended'));
  }

  #take(id: JsonRpcId): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (waiting !== undefined) this.#options.timers.clearTimeout(waiting.timer as never);
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
