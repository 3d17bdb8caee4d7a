/**
 * Sends GET requests over kept-alive connections, a bounded number per origin. It is for large
 * bodies, where a general HTTP client would cost more than the transfer.
 */

import type { Socket } from 'node:net';
import { isMillraceError, MillraceError } from '../src/base/errors.ts';
import { WaitingLine, waitInLine } from '../src/base/waiting-line.ts';
import type { Headers } from '../src/http/fields/headers.ts';
import type { MessageHead } from '../src/http/messages/message-head.ts';
import { type Fields, requestHead } from '../src/http/messages/request-head.ts';
import type { RangeConnectionOptions } from './connection-state.ts';
import type { SocketOptions } from './open-socket.ts';
import type { RoomForPiece, TakePiece } from './piece-reader.ts';
import { RangeConnection } from './range-connection.ts';

/** A way to origins that leads through another server. */
export interface Way {
  /**
   * Opens a socket on which the origin takes requests, after the handshakes.
   *
   * @throws MillraceError; the socket's Error; the signal's reason
   */
  open(
    url: URL,
    tls: Pick<SocketOptions, 'session' | 'onSession'>,
    signal: AbortSignal,
  ): Promise<Socket>;
  /** Returns true for URLs that requests must name as a whole (RFC 9112 3.2.2). */
  isForwarded(url: URL): boolean;
}

export interface RangeClientOptions extends RangeConnectionOptions {
  /** Most connections to one origin at a time. */
  readonly connections: number;
  /** Undefined: connections lead to the origin itself. */
  readonly way?: Way | undefined;
}

export interface RangeResponse {
  readonly status: number;
  readonly headers: Headers;
  /** True if the body has a Content-Length, and so can be read into memory of a fixed size. */
  readonly plain: boolean;
  /** Time from the request, on an open connection, to the head of the answer, in milliseconds. */
  readonly headMs: number;
  /** @throws see `RangeConnection.readInto` */
  readInto(into: Buffer, onBytes: (count: number) => void): Promise<void>;
  /** @throws see `RangeConnection.pipe` */
  pipe(take: TakePiece, room?: RoomForPiece): Promise<void>;
  discard(): void;
}

/** Told of the progress of a request. */
export interface RequestObserver {
  /** Called when the request is sent, after waiting for a connection. */
  readonly onSent?: (() => void) | undefined;
  /** Called for each interim response (1xx). */
  readonly onInterim?: ((head: MessageHead) => void) | undefined;
  /** Called when the body has been read, discarded, or broken off; not called if `open` fails. */
  readonly onDone?: (() => void) | undefined;
}

interface Pool {
  readonly idle: RangeConnection[];
  readonly open: Set<RangeConnection>;
  /** Connections that are being opened by another way. */
  opening: number;
  readonly waiting: WaitingLine<() => void>;
  /** Connections that have just ended an exchange, and are not idle yet. */
  readonly settling: Set<RangeConnection>;
  /** Latest TLS session: it saves further connections most of the handshake's processor time. */
  session: Buffer | undefined;
  /** The error for running and waiting requests, once the origin has been closed with an error. */
  cutOff: MillraceError | undefined;
}

/** Time after which we close an idle connection, in ms; servers close them a little later. */
const IDLE_MS = 4000;

export class RangeClient {
  readonly #options: RangeClientOptions;
  readonly #pools = new Map<string, Pool>();
  readonly #idleSince = new Map<RangeConnection, NodeJS.Timeout>();

  constructor(options: RangeClientOptions) {
    this.#options = options;
  }

  /**
   * Sends a GET and waits for the head of the answer, whose body must be read or discarded.
   *
   * @param headers fields to send, with valid values; a Host replaces that of the URL. A function is
   *   called when the request is sent, for fields that must be new then
   * @param signal ends the exchange at any point
   * @param observer told of the progress of the request
   * @throws the signal's reason; the socket's or resolver's Error; MillraceError as
   *   `RangeConnection.request`
   */
  async open(
    url: URL,
    headers: Fields | (() => Fields),
    signal: AbortSignal,
    observer: RequestObserver = {},
  ): Promise<RangeResponse> {
    // Check the fields before a connection is taken.
    const isWhole = this.#options.way?.isForwarded(url) === true;
    const headOf = (fields: Fields) => requestHead(url, fields, isWhole);
    const fixed = typeof headers === 'function' ? undefined : headOf(headers);
    for (;;) {
      const { connection, pool, reused } = await this.#acquire(url, signal);
      observer.onSent?.();
      const head = fixed ?? headOf((headers as () => Fields)());
      try {
        return await exchange(connection, head, signal, observer, () => {
          this.#giveBack(pool, connection);
          observer.onDone?.();
        });
      } catch (error) {
        this.#giveBack(pool, connection);
        if (signal.aborted) throw signal.reason;
        // The server may have closed the kept-alive connection just as it was used again, or the
        // bytes may belong to an earlier answer that was longer than announced.
        if (!reused || !(isBreak(error) || isMillraceError(error, 'malformed-response')))
          throw error;
      }
    }
  }

  /**
   * Closes the idle connections to an origin, and with an error also the busy ones.
   *
   * @param origin scheme, host and port
   * @param error for running and waiting requests; without it they continue
   */
  closeOrigin(origin: string, error?: MillraceError): void {
    const pool = this.#pools.get(origin);
    if (pool === undefined) return;
    for (const connection of [...pool.idle, ...pool.settling]) connection.destroy();
    if (error === undefined) return;
    pool.cutOff = error;
    this.#pools.delete(origin);
    for (const connection of [...pool.open]) connection.destroy(error);
    for (const wake of pool.waiting.takeAll()) wake();
  }

  /** Closes all idle connections; busy connections finish their exchange. */
  close(): void {
    for (const [connection, timer] of this.#idleSince) {
      clearTimeout(timer);
      connection.destroy();
    }
    this.#idleSince.clear();
    for (const pool of this.#pools.values()) {
      pool.idle.length = 0;
      for (const connection of pool.settling) connection.destroy();
    }
  }

  async #acquire(
    url: URL,
    signal: AbortSignal,
  ): Promise<{ connection: RangeConnection; pool: Pool; reused: boolean }> {
    const pool = this.#pool(url);
    const isFull = () => pool.open.size + pool.opening >= this.#options.connections;
    if (pool.settling.size > 0 && !this.#hasIdle(pool)) {
      await turnOfLoop();
      if (pool.cutOff !== undefined) throw pool.cutOff;
    }
    while (isFull() && !this.#hasIdle(pool)) {
      await waitInLine(pool.waiting, signal);
      if (pool.cutOff !== undefined) throw pool.cutOff;
    }
    signal.throwIfAborted();
    const idle = this.#takeIdle(pool);
    if (idle !== undefined) return { connection: idle, pool, reused: true };
    const tls = {
      session: pool.session,
      onSession: (session: Buffer) => {
        pool.session = session;
      },
    };
    const { way } = this.#options;
    const socket = way && (await openByWay(way, url, pool, tls, signal));
    const connection = new RangeConnection(url, this.#options, tls, socket);
    pool.open.add(connection);
    if (socket !== undefined) pool.opening--;
    connection.onClosed = () => {
      pool.open.delete(connection);
      this.#forgetIdle(pool, connection);
      pool.waiting.take()?.();
      this.#forgetUnused(url, pool);
    };
    return { connection, pool, reused: false };
  }

  #forgetUnused(url: URL, pool: Pool): void {
    const isUsed = pool.open.size + pool.opening + pool.waiting.size > 0;
    if (!isUsed && this.#pools.get(url.origin) === pool) this.#pools.delete(url.origin);
  }

  /**
   * Makes a connection idle once what has arrived on it is read: after an answer that is followed by
   * another one, the second must not become the answer to the next request.
   */
  #giveBack(pool: Pool, connection: RangeConnection): void {
    if (!connection.reusable || pool.cutOff !== undefined) return connection.destroy();
    pool.settling.add(connection);
    void turnOfLoop().then(() => {
      pool.settling.delete(connection);
      this.#makeIdle(pool, connection);
    });
  }

  #makeIdle(pool: Pool, connection: RangeConnection): void {
    if (!connection.reusable || pool.cutOff !== undefined) return connection.destroy();
    const timer = setTimeout(() => connection.destroy(), IDLE_MS);
    timer.unref();
    this.#idleSince.set(connection, timer);
    pool.idle.push(connection);
    pool.waiting.take()?.();
  }

  #hasIdle(pool: Pool): boolean {
    return pool.idle.some((connection) => connection.reusable);
  }

  #takeIdle(pool: Pool): RangeConnection | undefined {
    for (let connection = pool.idle.pop(); connection !== undefined; connection = pool.idle.pop()) {
      clearTimeout(this.#idleSince.get(connection));
      this.#idleSince.delete(connection);
      if (connection.reusable) return connection;
    }
    return undefined;
  }

  #forgetIdle(pool: Pool, connection: RangeConnection): void {
    clearTimeout(this.#idleSince.get(connection));
    this.#idleSince.delete(connection);
    const index = pool.idle.indexOf(connection);
    if (index >= 0) pool.idle.splice(index, 1);
  }

  #pool(url: URL): Pool {
    let pool = this.#pools.get(url.origin);
    if (pool === undefined) {
      const waiting = new WaitingLine<() => void>();
      const set = () => new Set<RangeConnection>();
      const connections = { idle: [], open: set(), settling: set(), opening: 0, waiting };
      pool = { ...connections, session: undefined, cutOff: undefined };
      this.#pools.set(url.origin, pool);
    }
    return pool;
  }
}

/** Waits until the event loop has read what the kernel had when this was called. */
function turnOfLoop(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(() => setImmediate(resolve));
  });
}

/** Opens a socket by another way; it counts as `opening` until its connection is made of it. */
async function openByWay(
  way: Way,
  url: URL,
  pool: Pool,
  tls: Parameters<Way['open']>[1],
  signal: AbortSignal,
): Promise<Socket> {
  pool.opening++;
  try {
    const socket = await way.open(url, tls, signal);
    if (socket.destroyed) throw new MillraceError('origin-reset', { code: 'closed-early' });
    if (pool.cutOff === undefined) return socket;
    socket.destroy();
    throw pool.cutOff;
  } catch (error) {
    pool.opening--;
    pool.waiting.take()?.();
    throw error;
  }
}

async function exchange(
  connection: RangeConnection,
  head: string,
  signal: AbortSignal,
  observer: RequestObserver,
  done: () => void,
): Promise<RangeResponse> {
  const onAbort = () => connection.destroy();
  signal.addEventListener('abort', onAbort, { once: true });
  let finished = false;
  const finish = () => {
    if (finished) return;
    finished = true;
    signal.removeEventListener('abort', onAbort);
    done();
  };
  let answer: MessageHead;
  try {
    answer = await connection.request(head, observer.onInterim);
  } catch (error) {
    signal.removeEventListener('abort', onAbort);
    throw error;
  }
  const read = async (reading: Promise<void>) => {
    try {
      await reading;
    } catch (error) {
      throw signal.aborted ? signal.reason : error;
    } finally {
      finish();
    }
  };
  return {
    status: answer.status,
    headers: answer.headers,
    plain: answer.framing.kind === 'length',
    headMs: connection.headMs,
    readInto: (into, onBytes) => read(connection.readInto(into, onBytes)),
    pipe: (take, room) => read(connection.pipe(take, room)),
    discard() {
      // Once the body has been read, the connection may already serve another request.
      if (finished) return;
      connection.discard();
      finish();
    },
  };
}

/** Returns true for the errors of a connection that the other side has closed. */
function isBreak(error: unknown): boolean {
  const code = (error as { code?: unknown }).code;
  return code === 'origin-reset' || code === 'ECONNRESET' || code === 'EPIPE';
}
