/**
 * One HTTP/1.1 connection for GET requests, one at a time. Bodies are read by the kernel straight
 * into the memory where they belong, or handed on out of one buffer of the connection: no memory
 * per read, nothing for the garbage collector. A general HTTP client spends four times the CPU on
 * the same bytes.
 */

import { connect as connectTcp, type LookupFunction, type Socket } from 'node:net';
import { MillraceError } from '../src/base/errors.ts';
import { BodyDecoder, bodyFraming } from '../src/http/messages/body-decoder.ts';
import { type MessageHead, parseMessageHead } from '../src/http/messages/message-head.ts';

export interface RangeConnectionOptions {
  readonly lookup?: LookupFunction;
  /** How long connecting, answering, and sending nothing may each take, milliseconds. */
  readonly timeoutMs: number;
  readonly connectTimeoutMs: number;
  /** How long a whole head may take, interim ones included, milliseconds; unless given for ever. */
  readonly headTimeoutMs?: number;
}

/**
 * Takes a piece of a body, which must be copied before it returns.
 *
 * @returns false to be given no more until `resume` is called, but for what has been read already
 */
export type TakePiece = (piece: Buffer, resume: () => void) => boolean;

/**
 * Memory to read the next bytes of a body into, so that whoever takes them need not copy them. It
 * is asked anew after every piece, and not read into any more once it has been, or once `pipe` has
 * settled.
 */
export type RoomForPiece = () => Uint8Array;

/** Longest response head. */
const MAX_HEAD_BYTES = 32 * 1024;
/**
 * What may come of the body with the end of its head. It must be copied, and comes whatever becomes
 * of the request meanwhile: no more than most heads take.
 */
const HEAD_READ_BYTES = 8 * 1024;
/** Room for the longest head and the beginning of the body that comes with it. */
const HEAD_BUFFER_BYTES = MAX_HEAD_BYTES + HEAD_READ_BYTES;
/** What the kernel may hand over at once: few enough calls that they cost next to nothing. */
const BODY_BUFFER_BYTES = 256 * 1024;
const HEAD_END = Buffer.from('\r\n\r\n');

type State =
  | { readonly kind: 'idle' }
  | {
      readonly kind: 'head';
      readonly onInterim: ((head: MessageHead) => void) | undefined;
      resolve(head: MessageHead): void;
      reject(error: Error): void;
    }
  | { readonly kind: 'held' }
  | {
      readonly kind: 'body';
      readonly into: Buffer;
      readonly onBytes: (count: number) => void;
      resolve(): void;
      reject(error: Error): void;
    }
  | {
      readonly kind: 'pieces';
      readonly decoder: BodyDecoder;
      readonly take: TakePiece;
      readonly room: RoomForPiece | undefined;
      readonly resume: () => void;
      paused: boolean;
      resolve(): void;
      reject(error: Error): void;
    }
  | { readonly kind: 'closed' };

export class RangeConnection {
  readonly #options: RangeConnectionOptions;
  readonly #socket: Socket;
  /** Collects a head; what follows it in the same read is the beginning of the body. */
  readonly #headBuffer = Buffer.allocUnsafeSlow(HEAD_BUFFER_BYTES);
  #headBytes = 0;
  #early: Buffer = this.#headBuffer.subarray(0, 0);
  #state: State = { kind: 'idle' };
  #filled = 0;
  /** The memory handed to the kernel for the next read, where it is the body's own. */
  #direct: Uint8Array | undefined;
  /** Where bodies that are handed on in pieces are read into. */
  #bodyBuffer: Buffer | undefined;
  /** Until the connection has come about, then until a head is complete. */
  #deadline: NodeJS.Timeout | undefined;
  #head: MessageHead | undefined;
  #connected = false;
  #onClosed: () => void = () => {};

  /** @param url of the origin: scheme, host and port count */
  constructor(url: URL, options: RangeConnectionOptions) {
    this.#options = options;
    const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
    const common = {
      host,
      port: Number(url.port || (url.protocol === 'https:' ? 443 : 80)),
      autoSelectFamily: true,
      noDelay: true,
      onread: {
        buffer: () => this.#nextBuffer(),
        callback: (count: number, buffer: Uint8Array) => this.#onRead(count, buffer),
      },
      ...(options.lookup === undefined ? {} : { lookup: options.lookup }),
    };
    const secure = url.protocol === 'https:';
    this.#socket = secure
      ? // Loaded for the first that needs it: 3 MB of memory.
        process
          .getBuiltinModule('node:tls')
          .connect({ ...common, servername: host, ALPNProtocols: ['http/1.1'] })
      : connectTcp(common);
    // Not by silence: a handshake of TLS may drip as well.
    this.#setDeadline(options.connectTimeoutMs);
    this.#socket.once(secure ? 'secureConnect' : 'connect', () => {
      this.#connected = true;
      this.#clearDeadline();
      if (this.#state.kind === 'head') this.#startHeadTimer();
      this.#socket.setTimeout(options.timeoutMs);
    });
    this.#socket.on('timeout', () => this.#onTimer());
    this.#socket.on('error', (error) => this.#fail(error));
    this.#socket.on('end', () => this.#onEnd());
    this.#socket.on('close', () => {
      this.#fail(new MillraceError('origin-reset', 'closed early'));
      this.#onClosed();
    });
  }

  /** True while another request can be sent. */
  get reusable(): boolean {
    return this.#state.kind === 'idle' && !this.#socket.destroyed;
  }

  /** Called once when the connection is gone. */
  set onClosed(callback: () => void) {
    this.#onClosed = callback;
  }

  /**
   * Sends a request and waits for the head of the answer; the body is held back.
   *
   * @param head the request's head, empty line included
   * @param onInterim told of interim responses (1xx), which precede the answer
   * @throws Error of the socket, MillraceError `malformed-response`, `origin-reset`,
   *   `origin-timeout`
   */
  request(head: string, onInterim?: (head: MessageHead) => void): Promise<MessageHead> {
    if (!this.reusable) return Promise.reject(new Error('the connection is in use'));
    this.#headBytes = 0;
    this.#early = this.#headBuffer.subarray(0, 0);
    this.#socket.ref();
    if (this.#connected) this.#socket.setTimeout(this.#options.timeoutMs);
    this.#socket.write(head, 'latin1');
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
      this.#state = { kind: 'body', into, onBytes, resolve, reject };
      this.#filled = 0;
      this.#socket.setTimeout(this.#options.timeoutMs);
      const early = this.#early.copy(into);
      if (this.#early.length > into.length) return this.#fail(tooLong());
      // An empty body is complete without another read.
      if (early > 0 || into.length === 0) this.#took(early);
      if (this.#state.kind === 'body') this.#socket.resume();
    });
  }

  /**
   * Hands the body on piece by piece, however it is delimited.
   *
   * @param room used where the body has a Content-Length: else lengths stand between its bytes
   * @throws what `take` throws; MillraceError `malformed-response`, `origin-reset` where it is not
   *   complete, `origin-timeout`
   */
  pipe(take: TakePiece, room?: RoomForPiece): Promise<void> {
    const head = this.#head;
    if (this.#state.kind !== 'held' || head === undefined) {
      return Promise.reject(new Error('there is no body to read'));
    }
    let decoder: BodyDecoder;
    let plain: boolean;
    try {
      const framing = bodyFraming(head);
      plain = framing.kind === 'length';
      decoder = new BodyDecoder(framing);
    } catch (error) {
      this.destroy();
      return Promise.reject(error);
    }
    return new Promise((resolve, reject) => {
      const resume = () => {
        if (this.#state !== state || !state.paused) return;
        state.paused = false;
        this.#socket.setTimeout(this.#options.timeoutMs);
        this.#socket.resume();
      };
      const state: Extract<State, { kind: 'pieces' }> = {
        ...{ kind: 'pieces', decoder, take, resume, paused: false, resolve, reject },
        room: plain ? room : undefined,
      };
      this.#state = state;
      this.#socket.setTimeout(this.#options.timeoutMs);
      if (this.#piecesRead(this.#early)) this.#socket.resume();
    });
  }

  /** Ends the exchange without its body; the connection lives on only if there was none. */
  discard(): void {
    const framing = this.#head?.framing;
    const empty = framing?.kind === 'none' || (framing?.kind === 'length' && framing.bytes === 0);
    if (this.#state.kind === 'held' && empty && this.#early.length === 0) this.#finish();
    else this.destroy();
  }

  /**
   * Closes the connection at once.
   *
   * @param error what the exchange under way fails with
   */
  destroy(error = new MillraceError('origin-reset', 'given up')): void {
    this.#socket.destroy();
    this.#fail(error);
  }

  #nextBuffer(): Uint8Array {
    const state = this.#state;
    this.#direct = undefined;
    if (state.kind === 'pieces') {
      if (state.room !== undefined) return state.room();
      this.#bodyBuffer ??= Buffer.allocUnsafeSlow(BODY_BUFFER_BYTES);
      return this.#bodyBuffer;
    }
    if (state.kind === 'body') {
      this.#direct = state.into.subarray(this.#filled);
      return this.#direct;
    }
    // Never empty, though nothing is to be read into it when it is full.
    const from = Math.min(this.#headBytes, HEAD_BUFFER_BYTES - 1);
    return this.#headBuffer.subarray(from, from + HEAD_READ_BYTES);
  }

  /** @returns false to stop reading */
  #onRead(count: number, buffer: Uint8Array): boolean {
    const state = this.#state;
    switch (state.kind) {
      case 'body':
        // The first read after the head goes to the memory that was handed out before anybody
        // knew where the body would go.
        if (buffer !== this.#direct) {
          if (this.#filled + count > state.into.length) this.#fail(tooLong());
          else state.into.set(buffer.subarray(0, count), this.#filled);
        }
        if (this.#state.kind === 'body') this.#took(count);
        return true;
      case 'head': {
        // Likewise: memory may have been handed out before the last head was done with.
        const { buffer: memory, byteOffset } = this.#headBuffer;
        if (buffer.buffer !== memory || buffer.byteOffset !== byteOffset + this.#headBytes) {
          this.#headBuffer.set(buffer.subarray(0, count), this.#headBytes);
        }
        return this.#headRead(count);
      }
      case 'pieces':
        // Wherever it has been read into: it is copied from there.
        return this.#piecesRead(Buffer.from(buffer.buffer, buffer.byteOffset, count));
      default:
        // Nobody asked for anything: whatever this is, it is not an answer.
        this.#fail(new MillraceError('malformed-response', 'bytes that nobody asked for'));
        return false;
    }
  }

  #headRead(count: number): boolean {
    const from = Math.max(0, this.#headBytes - 3);
    this.#headBytes += count;
    const bytes = this.#headBuffer.subarray(0, this.#headBytes);
    const end = bytes.indexOf(HEAD_END, from);
    if (end < 0) {
      if (this.#headBytes < MAX_HEAD_BYTES) return true;
      this.#fail(new MillraceError('malformed-response', 'the header is too long'));
      return false;
    }
    let head: MessageHead;
    try {
      head = parseMessageHead(bytes.toString('latin1', 0, end));
    } catch (error) {
      this.#fail(error as Error);
      return false;
    }
    if (head.status < 200) {
      // An interim response: the real one follows, perhaps in the same bytes.
      this.#headBuffer.copyWithin(0, end + 4, this.#headBytes);
      const rest = this.#headBytes - end - 4;
      this.#headBytes = 0;
      (this.#state as Extract<State, { kind: 'head' }>).onInterim?.(head);
      return rest > 0 ? this.#headRead(rest) : true;
    }
    this.#clearDeadline();
    this.#early = bytes.subarray(end + 4);
    this.#head = head;
    const { resolve } = this.#state as Extract<State, { kind: 'head' }>;
    this.#state = { kind: 'held' };
    resolve(head);
    // Held back until somebody says where the body goes.
    this.#socket.pause();
    return false;
  }

  #startHeadTimer(): void {
    const { headTimeoutMs } = this.#options;
    if (headTimeoutMs !== undefined) this.#setDeadline(headTimeoutMs);
  }

  #setDeadline(ms: number): void {
    clearTimeout(this.#deadline);
    const deadline = setTimeout(() => {
      // As with silence: what came while this process was kept waiting is read first.
      setImmediate(() => {
        if (this.#deadline === deadline) this.#onTimeout();
      });
    }, ms);
    this.#deadline = deadline;
  }

  #clearDeadline(): void {
    clearTimeout(this.#deadline);
    this.#deadline = undefined;
  }

  /** @returns false to stop reading */
  #piecesRead(bytes: Buffer): boolean {
    const state = this.#state as Extract<State, { kind: 'pieces' }>;
    const { decoder, take, resume } = state;
    let used: number;
    try {
      used = decoder.push(bytes, (start, end) => {
        // Whoever takes may give up in the middle of a read.
        if (this.#state !== state) return;
        if (!take(bytes.subarray(start, end), resume)) state.paused = true;
      });
    } catch (error) {
      this.#fail(error as Error);
      return false;
    }
    if (this.#state !== state) return false;
    if (decoder.ended) {
      this.#finish();
      // What follows is an answer to nothing. It must never become the next one's.
      if (used < bytes.length) this.destroy();
      state.resolve();
      return used === bytes.length;
    }
    if (state.paused) this.#socket.pause();
    return !state.paused;
  }

  #onEnd(): void {
    const state = this.#state;
    if (state.kind === 'pieces' && state.decoder.close()) {
      this.#state = { kind: 'closed' };
      this.#socket.destroy();
      state.resolve();
    } else {
      this.#fail(new MillraceError('origin-reset', 'closed early'));
    }
  }

  #took(count: number): void {
    const state = this.#state as Extract<State, { kind: 'body' }>;
    this.#filled += count;
    state.onBytes(count);
    if (this.#filled < state.into.length) return;
    this.#finish();
    state.resolve();
  }

  #finish(): void {
    this.#state = { kind: 'idle' };
    if (this.#head?.keepAlive !== true) return void this.#socket.destroy();
    this.#headBytes = 0;
    this.#socket.setTimeout(0);
    // An idle connection must not keep the process alive, but must notice being closed.
    this.#socket.unref();
    this.#socket.resume();
  }

  /** As `SilenceTimer`: what came while this process was kept waiting is read first. */
  #onTimer(): void {
    const { bytesRead } = this.#socket;
    setImmediate(() => {
      if (this.#socket.bytesRead === bytesRead) this.#onTimeout();
    });
  }

  #onTimeout(): void {
    const state = this.#state;
    // It is we who are slow.
    if (state.kind === 'held' || (state.kind === 'pieces' && state.paused)) return;
    const what = !this.#connected
      ? 'no connection came about'
      : state.kind === 'head'
        ? 'no complete header came'
        : 'nothing came';
    this.#fail(new MillraceError('origin-timeout', `${what} for a long time`));
  }

  #fail(error: Error): void {
    const state = this.#state;
    this.#state = { kind: 'closed' };
    this.#clearDeadline();
    this.#socket.destroy();
    if ('reject' in state) state.reject(error);
  }
}

function tooLong(): MillraceError {
  return new MillraceError('wrong-length', 'more bytes than announced');
}
