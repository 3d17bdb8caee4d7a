/**
 * Ends the connections of clients that have vanished (ANYCAST 3.1.2, 3.1.3): they would hold memory
 * and a place among the connections until the kernel gives them up, a quarter of an hour later. One
 * timer serves all of them.
 */

import type { Socket } from 'node:net';
import type { Millis } from '@millrace/shared/base/clock';
import { ClientSilence, type SilentClient } from '@millrace/shared/cdn/clients/client-silence';
import type { TcpState } from '@millrace/shared/cdn/clients/vanished-client';
import { networkKey } from '../policy/client-key.ts';
import type { ReadTcpInfo } from './tcp-info.ts';

export interface ClientReaperOptions {
  /** Undefined if the state of connections cannot be read: then no client is reaped. */
  readonly readTcpInfo: ReadTcpInfo | undefined;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
  /** Called once for every client reaped. */
  readonly onReaped: () => void;
  /**
   * Interval between looks at all connections. Two timeouts take a kernel 600 ms at least; those that
   * have left one unanswered are looked at more often.
   */
  readonly intervalMs?: Millis;
}

interface Watched {
  readonly socket: Socket;
  readonly outstanding: () => boolean;
  readonly reap: () => void;
  readonly client: SilentClient;
  /** True once the kernel has all of the response. */
  handedOn: boolean;
}

const INTERVAL_MS = 250;
/** Looks at silent connections in an interval. */
const LOOKS = 5;

export class ClientReaper {
  readonly #options: ClientReaperOptions;
  readonly #watched = new Set<Watched>();
  /** The same by connection: thousands may vanish at once, and each is looked up. */
  readonly #byConnection = new Map<Socket, Set<Watched>>();
  /** Watches of responses that have been handed on, each the last response of its connection. */
  readonly #handedOn = new Map<Socket, Watched>();
  readonly #silence = new ClientSilence();
  #timer: NodeJS.Timeout | undefined;
  /** Watches of clients that left a timeout unanswered when they were looked at. */
  readonly #silent = new Set<Watched>();
  #looks = 0;

  constructor(options: ClientReaperOptions) {
    this.#options = options;
  }

  /** Connections watched now. */
  get watching(): number {
    return this.#watched.size;
  }

  /**
   * Watches a client while it is served, and until it has acknowledged all: the kernel may hold
   * megabytes of a response that we have handed on.
   *
   * @param socket the client's connection
   * @param outstanding whether the client owes acknowledgements: false until some of the response
   *   has gone out, so that the kernel need not be asked
   * @param reap called at most once, when the client has vanished; must end the connection with a
   *   RST, which tells a client that is still there to start over (ANYCAST 3.1.3)
   * @returns a function to call when all of the response has been handed on or given up; further
   *   calls do nothing
   */
  watch(socket: Socket, outstanding: () => boolean, reap: () => void): () => void {
    if (this.#options.readTcpInfo === undefined) return () => {};
    const client = this.#silence.watch(networkKey(socket.remoteAddress ?? '') ?? '');
    const watched: Watched = { socket, outstanding, reap, client, handedOn: false };
    // The new response is watched instead of the one before.
    this.#forgetHandedOn(socket);
    this.#watched.add(watched);
    const onConnection = this.#byConnection.get(socket);
    if (onConnection === undefined) this.#byConnection.set(socket, new Set([watched]));
    else onConnection.add(watched);
    this.#timer ??= setInterval(
      () => this.#look(),
      (this.#options.intervalMs ?? INTERVAL_MS) / LOOKS,
    ).unref();
    return () => this.#handOn(watched);
  }

  /** Ends all watches. */
  stop(): void {
    for (const watched of this.#watched) this.#unwatch(watched);
  }

  #handOn(watched: Watched): void {
    const { socket } = watched;
    if (!this.#watched.has(watched) || watched.handedOn) return;
    if (socket.destroyed) return this.#unwatch(watched);
    this.#forgetHandedOn(socket);
    watched.handedOn = true;
    this.#handedOn.set(socket, watched);
  }

  #forgetHandedOn(socket: Socket): void {
    const before = this.#handedOn.get(socket);
    if (before !== undefined) this.#unwatch(before);
  }

  #unwatch(watched: Watched): void {
    if (this.#watched.delete(watched)) this.#silence.unwatch(watched.client);
    this.#silent.delete(watched);
    const onConnection = this.#byConnection.get(watched.socket);
    onConnection?.delete(watched);
    if (onConnection?.size === 0) this.#byConnection.delete(watched.socket);
    if (this.#handedOn.get(watched.socket) === watched) this.#handedOn.delete(watched.socket);
    if (this.#watched.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#looks = 0;
  }

  #look(): void {
    const { onReaped } = this.#options;
    const isAllsTurn = ++this.#looks % LOOKS === 0;
    for (const watched of isAllsTurn ? this.#watched : this.#silent) {
      if (!this.#hasVanished(watched)) continue;
      // With HTTP/2 several responses share one connection: a single client has vanished.
      for (const other of this.#byConnection.get(watched.socket) ?? []) {
        if (other === watched) continue;
        this.#unwatch(other);
        other.reap();
      }
      this.#unwatch(watched);
      onReaped();
      watched.reap();
    }
  }

  #hasVanished(watched: Watched): boolean {
    const { socket, client } = watched;
    const outstanding = watched.outstanding();
    const state = outstanding ? this.#options.readTcpInfo?.(socket) : undefined;
    if (watched.handedOn && hasAll(state)) {
      this.#unwatch(watched);
      return false;
    }
    const hasVanished = this.#silence.observe(client, state, outstanding, this.#options.now());
    if (client.isSilent) this.#silent.add(watched);
    else this.#silent.delete(watched);
    return hasVanished;
  }
}

/** Returns true if a client has acknowledged everything, or its connection is closed. */
function hasAll(state: TcpState | undefined): boolean {
  return state === undefined || (state.unacked === 0 && state.unsentBytes === 0);
}
