/**
 * One HTTP/1.1 connection for GET requests, one at a time: its socket, and the time limits of a
 * request. `AnswerReader` reads the answers. A general HTTP client spends four times the CPU time on
 * the same bytes, because it allocates memory per read.
 */

import type { Socket } from 'node:net';
import { MillraceError } from '../src/base/errors.ts';
import { MAX_HEAD_WAIT_MS } from '../src/base/limits.ts';
import type { MessageHead } from '../src/http/messages/message-head.ts';
import { AnswerReader } from './answer-reader.ts';
import { closedEarly, givenUp, type RangeConnectionOptions } from './connection-state.ts';
import { Deadline } from './deadline.ts';
import { feed, openSocket, type SocketOptions } from './open-socket.ts';
import type { RoomForPiece, TakePiece } from './piece-reader.ts';

export class RangeConnection {
  readonly #options: RangeConnectionOptions;
  readonly #socket: Socket;
  readonly #reader: AnswerReader;
  /** Limits the time to connect, then the time until a head is complete. */
  readonly #deadline = new Deadline(() => this.#onTimeout());
  #connected = false;
  /** When the request left, on the connected socket; monotonic milliseconds. */
  #sentAt = 0;
  #headMs = 0;
  #onClosed: () => void = () => {};

  /**
   * Opens a connection.
   *
   * @param url URL of the origin; only scheme, host and port count
   * @param tls session of an earlier connection to this origin, and what keeps those of this one
   * @param opened a socket on which the origin takes requests already
   */
  constructor(
    url: URL,
    options: RangeConnectionOptions,
    tls: Pick<SocketOptions, 'session' | 'onSession'> = {},
    opened?: Socket,
  ) {
    this.#options = options;
    this.#reader = this.#newReader();
    const onread = {
      buffer: () => this.#reader.room(),
      callback: (count: number, buffer: Uint8Array) => this.#reader.onRead(count, buffer),
    };
    const how = { lookup: options.lookup, onread, onConnect: () => this.#onConnect() };
    this.#socket = opened ?? openSocket(url, { ...tls, ...how, shown: options.tls?.(url) });
    // A deadline instead of a limit on silence, because a TLS handshake may drip as well.
    if (opened === undefined) this.#deadline.set(options.connectTimeoutMs);
    else this.#onConnect();
    this.#socket.on('timeout', () => this.#onTimer());
    this.#socket.on('error', (error) => this.#reader.onError(error));
    this.#socket.on('end', () => this.#reader.onEnd());
    this.#socket.on('close', () => {
      this.#reader.onError(closedEarly());
      this.#onClosed();
    });
    if (opened !== undefined) feed(opened, onread);
  }

  #onConnect(): void {
    this.#connected = true;
    this.#sentAt = performance.now();
    this.#deadline.clear();
    if (this.#reader.awaitsHead) this.#startHeadTimer();
    this.#socket.setTimeout(this.#options.timeoutMs);
  }

  /** True if a request can be sent now. */
  get reusable(): boolean {
    return this.#reader.isIdle && !this.#socket.destroyed;
  }

  /** Time from the last request, on the open connection, to the head of its answer, in ms. */
  get headMs(): number {
    return this.#headMs;
  }

  /** Called once when the connection has closed. */
  set onClosed(callback: () => void) {
    this.#onClosed = callback;
  }

  /**
   * Sends a request and waits for the head of the answer. The body is held back.
   *
   * @param head the request's head, empty line included
   * @param onInterim told of interim responses (1xx), which precede the answer
   * @throws Error of the socket, MillraceError `malformed-response`, `origin-reset`,
   *   `origin-timeout`
   */
  request(head: string, onInterim?: (head: MessageHead) => void): Promise<MessageHead> {
    if (!this.reusable) return Promise.reject(new Error('the connection is in use'));
    this.#socket.ref();
    if (this.#connected) this.#socket.setTimeout(this.#options.timeoutMs);
    this.#socket.write(head, 'latin1');
    this.#sentAt = performance.now();
    if (this.#connected) this.#startHeadTimer();
    return this.#reader.start(onInterim);
  }

  /** Reads the whole body; see `AnswerReader.readInto`. */
  readInto(into: Buffer, onBytes: (count: number) => void): Promise<void> {
    return this.#reader.readInto(into, onBytes);
  }

  /** Passes the body on piece by piece; see `AnswerReader.pipe`. */
  pipe(take: TakePiece, room?: RoomForPiece): Promise<void> {
    return this.#reader.pipe(take, room);
  }

  /** Ends the exchange without its body; the connection stays open only if the body is empty. */
  discard(): void {
    this.#reader.discard();
  }

  /**
   * Closes the connection at once.
   *
   * @param error the error of the running exchange
   */
  destroy(error = givenUp()): void {
    this.#reader.fail(error);
  }

  #newReader(): AnswerReader {
    const line = {
      isEncrypted: () => 'encrypted' in this.#socket,
      pause: () => void this.#socket.pause(),
      resume: () => void this.#socket.resume(),
      limitSilence: () => void this.#socket.setTimeout(this.#options.timeoutMs),
      onHead: () => {
        this.#deadline.clear();
        this.#headMs = performance.now() - this.#sentAt;
      },
      onIdle: () => {
        this.#socket.setTimeout(0);
        // An idle connection must not keep the process alive, but must notice when it is closed.
        this.#socket.unref();
        this.#socket.resume();
      },
      close: () => {
        this.#deadline.clear();
        this.#socket.destroy();
      },
    };
    return new AnswerReader(line, this.#options.mends);
  }

  #startHeadTimer(): void {
    this.#deadline.set(this.#options.headTimeoutMs ?? MAX_HEAD_WAIT_MS);
  }

  /** Reads bytes that arrived while this process was blocked first, as in `SilenceTimer`. */
  #onTimer(): void {
    const { bytesRead } = this.#socket;
    setImmediate(() => {
      if (this.#socket.bytesRead === bytesRead) this.#onTimeout();
    });
  }

  #onTimeout(): void {
    // No timeout while this process is the slow side.
    if (this.#reader.isHeldBack) return;
    const what = !this.#connected
      ? 'no connection was made'
      : this.#reader.awaitsHead
        ? 'no complete header came'
        : 'nothing came';
    this.#reader.fail(new MillraceError('origin-timeout', `${what} for a long time`));
  }
}
