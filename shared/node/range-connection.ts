/**
 * One HTTP/1.1 connection for GET requests, one at a time. The kernel reads bodies straight into
 * their target memory, or they are passed on out of one buffer of the connection: no memory is
 * allocated per read. A general HTTP client spends four times the CPU time on the same bytes.
 */

import type { Socket } from 'node:net';
import { MillraceError } from '../src/base/errors.ts';
import { MAX_HEAD_WAIT_MS } from '../src/base/limits.ts';
import type { MessageHead } from '../src/http/messages/message-head.ts';
import { type RangeConnectionOptions, type State, tooLong } from './connection-state.ts';
import { Deadline } from './deadline.ts';
import { feed } from './fed-socket.ts';
import { HeadBuffer } from './head-buffer.ts';
import { HeldBytes } from './held-bytes.ts';
import { openSocket, type SocketOptions } from './open-socket.ts';
import { PieceReader, type RoomForPiece, type TakePiece } from './piece-reader.ts';

/** Most bytes per read of a piece: enough that the cost of the calls is negligible. */
const BODY_BUFFER_BYTES = 256 * 1024;

export class RangeConnection {
  readonly #options: RangeConnectionOptions;
  readonly #socket: Socket;
  readonly #headBuffer: HeadBuffer;
  #state: State = { kind: 'idle' };
  #filled = 0;
  /** The body's own memory, if it was handed to the kernel for the next read. */
  #direct: Uint8Array | undefined;
  /** Buffer for bodies that are passed on in pieces. */
  #bodyBuffer: Buffer | undefined;
  readonly #held = new HeldBytes();
  /** Memory of the last piece, which the receiver may read until it is ready for more. */
  #lent: Uint8Array | undefined;
  /** Limits the time to connect, then the time until a head is complete. */
  readonly #deadline = new Deadline(() => this.#onTimeout());
  #head: MessageHead | undefined;
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
    this.#headBuffer = new HeadBuffer(options.mends);
    const onread = {
      buffer: () => this.#nextBuffer(),
      callback: (count: number, buffer: Uint8Array) => this.#onRead(count, buffer),
    };
    const how = { lookup: options.lookup, onread, onConnect: () => this.#onConnect() };
    this.#socket = opened ?? openSocket(url, { ...tls, ...how, shown: options.tls?.(url) });
    // A deadline instead of a limit on silence, because a TLS handshake may drip as well.
    if (opened === undefined) this.#deadline.set(options.connectTimeoutMs);
    else this.#onConnect();
    this.#socket.on('timeout', () => this.#onTimer());
    this.#socket.on('error', (error) => this.#atEnd(() => this.#fail(error)));
    this.#socket.on('end', () => this.#atEnd(() => this.#onEnd()));
    this.#socket.on('close', () => {
      this.#atEnd(() => this.#fail(new MillraceError('origin-reset', 'closed early')));
      this.#onClosed();
    });
    if (opened !== undefined) feed(opened, onread);
  }

  #onConnect(): void {
    this.#connected = true;
    this.#sentAt = performance.now();
    this.#deadline.clear();
    if (this.#state.kind === 'head') this.#startHeadTimer();
    this.#socket.setTimeout(this.#options.timeoutMs);
  }

  /** True if a request can be sent now. */
  get reusable(): boolean {
    return this.#state.kind === 'idle' && !this.#socket.destroyed;
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
    this.#headBuffer.clear();
    this.#held.clear();
    this.#socket.ref();
    if (this.#connected) this.#socket.setTimeout(this.#options.timeoutMs);
    this.#socket.write(head, 'latin1');
    this.#sentAt = performance.now();
    if (this.#connected) this.#startHeadTimer();
    return new Promise((resolve, reject) => {
      this.#state = { kind: 'head', onInterim, resolve, reject };
    });
  }

  /**
   * Reads the whole body, whose Content-Length must be `into.length`.
   *
   * @throws MillraceError `wrong-length`, `origin-reset`, `origin-timeout`
   */
  readInto(into: Buffer, onBytes: (count: number) => void): Promise<void> {
    const framing = this.#head?.framing;
    if (this.#state.kind !== 'held' || framing?.kind !== 'length') {
      return Promise.reject(new Error('there is no body to read'));
    }
    if (framing.bytes !== into.length) {
      this.destroy();
      return Promise.reject(
        new MillraceError('wrong-length', `${framing.bytes} instead of ${into.length} bytes`),
      );
    }
    return new Promise((resolve, reject) => {
      const state = { kind: 'body', into, onBytes, resolve, reject } as const;
      this.#state = state;
      this.#filled = 0;
      this.#socket.setTimeout(this.#options.timeoutMs);
      let early = 0;
      for (const bytes of [this.#headBuffer.rest, ...this.#held.takeAll()]) {
        if (early + bytes.length > into.length) return this.#fail(tooLong());
        early += bytes.copy(into, early);
      }
      // An empty body is complete without another read.
      if (early > 0 || into.length === 0) this.#took(state, early);
      if (this.#state === state && !this.#held.end()) this.#socket.resume();
    });
  }

  /**
   * Passes the body on piece by piece, however it is delimited.
   *
   * @param room used if the body has a Content-Length
   * @throws errors of `take`; MillraceError `malformed-response`, `origin-reset` if the body is not
   *   complete, `origin-timeout`
   */
  pipe(take: TakePiece, room?: RoomForPiece): Promise<void> {
    const head = this.#head;
    if (this.#state.kind !== 'held' || head === undefined) {
      return Promise.reject(new Error('there is no body to read'));
    }
    let reader: PieceReader;
    try {
      const { mends } = this.#options;
      reader = new PieceReader(head, { take, room, mends, onResume: () => this.#goOn() });
    } catch (error) {
      this.destroy();
      return Promise.reject(error);
    }
    return new Promise((resolve, reject) => {
      const state = { kind: 'pieces', reader, resolve, reject } as const;
      this.#state = state;
      this.#socket.setTimeout(this.#options.timeoutMs);
      if (this.#piecesRead(state, this.#headBuffer.rest)) this.#goOn();
    });
  }

  /** Ends the exchange without its body; the connection stays open only if the body is empty. */
  discard(): void {
    const framing = this.#head?.framing;
    const empty = framing?.kind === 'none' || (framing?.kind === 'length' && framing.bytes === 0);
    const isRead = this.#headBuffer.rest.length + this.#held.count === 0;
    if (this.#state.kind === 'held' && empty && isRead) this.#finish();
    else this.destroy();
  }

  /**
   * Closes the connection at once.
   *
   * @param error the error of the running exchange
   */
  destroy(error = new MillraceError('origin-reset', 'given up')): void {
    this.#socket.destroy();
    this.#fail(error);
  }

  #nextBuffer(): Uint8Array {
    const state = this.#state;
    this.#direct = undefined;
    if (this.#isHeldBack && 'encrypted' in this.#socket) return this.#held.room(this.#lent);
    if (state.kind === 'pieces') {
      const memory = state.reader.room?.();
      if (memory !== undefined) return memory;
      this.#bodyBuffer ??= Buffer.allocUnsafeSlow(BODY_BUFFER_BYTES);
      return this.#bodyBuffer;
    }
    if (state.kind === 'body') {
      this.#direct = state.into.subarray(this.#filled);
      return this.#direct;
    }
    return this.#headBuffer.room;
  }

  /** @returns false to stop reading */
  #onRead(count: number, buffer: Uint8Array): boolean {
    const state = this.#state;
    switch (state.kind) {
      case 'body':
        // The first read after the head goes to memory that was handed out before the body's target
        // was known.
        if (buffer !== this.#direct) {
          if (this.#filled + count > state.into.length) this.#fail(tooLong());
          else state.into.set(buffer.subarray(0, count), this.#filled);
        }
        if (this.#state === state) this.#took(state, count);
        return true;
      case 'head':
        return this.#headRead(state, buffer.subarray(0, count));
      case 'held':
      case 'pieces':
        if (state.kind === 'held' || state.reader.paused) {
          // TLS gives out all that it has decrypted, whether it is held back or not.
          if (!this.#held.add(buffer.subarray(0, count))) this.#fail(tooLong());
          return false;
        }
        // The receiver copies the bytes from whichever memory they were read into.
        this.#lent = buffer;
        return this.#piecesRead(state, Buffer.from(buffer.buffer, buffer.byteOffset, count));
      default:
        // No request is running, so these bytes are not an answer.
        this.#fail(new MillraceError('malformed-response', 'bytes that nobody asked for'));
        return false;
    }
  }

  /** @returns false to stop reading */
  #headRead(state: Extract<State, { kind: 'head' }>, bytes: Uint8Array): boolean {
    let head: MessageHead | undefined;
    try {
      head = this.#headBuffer.push(bytes, state.onInterim);
    } catch (error) {
      this.#fail(error as Error);
      return false;
    }
    // The receiver of an interim response may give up.
    if (this.#state !== state) return false;
    if (head === undefined) return true;
    this.#deadline.clear();
    this.#head = head;
    this.#headMs = performance.now() - this.#sentAt;
    this.#state = { kind: 'held' };
    state.resolve(head);
    // Hold back the body until the caller chooses its target.
    this.#socket.pause();
    return false;
  }

  #startHeadTimer(): void {
    this.#deadline.set(this.#options.headTimeoutMs ?? MAX_HEAD_WAIT_MS);
  }

  /** @returns false to stop reading */
  #piecesRead(state: Extract<State, { kind: 'pieces' }>, bytes: Buffer): boolean {
    const { reader } = state;
    let used: number;
    try {
      used = reader.push(bytes);
    } catch (error) {
      this.#fail(error as Error);
      return false;
    }
    if (this.#state !== state) return false;
    if (reader.ended) {
      reader.stop();
      this.#finish();
      // Surplus bytes answer no request and must never become the next answer.
      if (used < bytes.length || this.#held.count > 0) this.destroy();
      state.resolve();
      return used === bytes.length;
    }
    if (reader.paused) this.#socket.pause();
    return !reader.paused;
  }

  /** True while the receiver wants no bytes. */
  get #isHeldBack(): boolean {
    const state = this.#state;
    return state.kind === 'held' || (state.kind === 'pieces' && state.reader.paused);
  }

  /** Acts on the end of the connection, behind all bytes that the receiver has not got yet. */
  #atEnd(act: () => void): void {
    if (this.#isHeldBack || this.#held.count > 0) this.#held.keepEnd(act);
    else act();
  }

  /** Passes on what came while the receiver was not ready, and reads on once that is done. */
  #goOn(): void {
    const state = this.#state;
    if (state.kind !== 'pieces') return;
    this.#socket.setTimeout(this.#options.timeoutMs);
    for (let bytes = this.#held.take(); bytes !== undefined; bytes = this.#held.take()) {
      if (!this.#piecesRead(state, bytes)) return;
    }
    if (!this.#held.end()) this.#socket.resume();
  }

  #onEnd(): void {
    const state = this.#state;
    if (state.kind === 'pieces' && state.reader.close()) {
      this.#state = { kind: 'closed' };
      this.#socket.destroy();
      state.resolve();
    } else {
      this.#fail(new MillraceError('origin-reset', 'closed early'));
    }
  }

  #took(state: Extract<State, { kind: 'body' }>, count: number): void {
    this.#filled += count;
    state.onBytes(count);
    if (this.#filled < state.into.length) return;
    this.#finish();
    state.resolve();
  }

  #finish(): void {
    this.#state = { kind: 'idle' };
    if (this.#head?.keepAlive !== true || this.#held.hasEnd) return void this.#socket.destroy();
    this.#headBuffer.clear();
    this.#lent = undefined;
    this.#socket.setTimeout(0);
    // An idle connection must not keep the process alive, but must notice when it is closed.
    this.#socket.unref();
    this.#socket.resume();
  }

  /** Reads bytes that arrived while this process was blocked first, as in `SilenceTimer`. */
  #onTimer(): void {
    const { bytesRead } = this.#socket;
    setImmediate(() => {
      if (this.#socket.bytesRead === bytesRead) this.#onTimeout();
    });
  }

  #onTimeout(): void {
    const state = this.#state;
    // No timeout while this process is the slow side.
    if (state.kind === 'held' || (state.kind === 'pieces' && state.reader.paused)) return;
    const what = !this.#connected
      ? 'no connection was made'
      : state.kind === 'head'
        ? 'no complete header came'
        : 'nothing came';
    this.#fail(new MillraceError('origin-timeout', `${what} for a long time`));
  }

  #fail(error: Error): void {
    const state = this.#state;
    this.#state = { kind: 'closed' };
    this.#deadline.clear();
    this.#socket.destroy();
    if (state.kind === 'pieces') state.reader.stop();
    if ('reject' in state) state.reject(error);
  }
}
