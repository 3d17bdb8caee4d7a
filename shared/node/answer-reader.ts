/**
 * Reads the answers that come on a connection, one at a time. Each body is held back until its
 * receiver is known. Then the bytes are read straight into the receiver's memory, or are passed on
 * out of one buffer of the connection: no memory is allocated per read.
 */

import { MillraceError } from '../src/base/errors.ts';
import type { MessageHead } from '../src/http/messages/message-head.ts';
import {
  type AnswerLine,
  BodyMemory,
  closedEarly,
  givenUp,
  type State,
  tooLong,
} from './connection-state.ts';
import { HeadBuffer } from './head-buffer.ts';
import { HeldBytes } from './held-bytes.ts';
import { PieceReader, type RoomForPiece, type TakePiece } from './piece-reader.ts';

/** Most bytes per read of a piece: enough that the cost of the calls is negligible. */
const BODY_BUFFER_BYTES = 256 * 1024;

export class AnswerReader {
  readonly #line: AnswerLine;
  readonly #mends: boolean | undefined;
  readonly #headBuffer: HeadBuffer;
  #state: State = { kind: 'idle' };
  /** Buffer for bodies that are passed on in pieces. */
  #bodyBuffer: Buffer | undefined;
  readonly #held = new HeldBytes();
  /** Memory of the last piece, which the receiver may read until it is ready for more. */
  #lent: Uint8Array | undefined;
  #head: MessageHead | undefined;

  /** @param mends see `RangeConnectionOptions.mends` */
  constructor(line: AnswerLine, mends: boolean | undefined) {
    this.#line = line;
    this.#mends = mends;
    this.#headBuffer = new HeadBuffer(mends);
  }

  /** True if no answer is expected or being read, and one can be. */
  get isIdle(): boolean {
    return this.#state.kind === 'idle';
  }

  /** True while the head of an answer is expected. */
  get awaitsHead(): boolean {
    return this.#state.kind === 'head';
  }

  /** True while the receiver wants no bytes. */
  get isHeldBack(): boolean {
    const state = this.#state;
    return state.kind === 'held' || (state.kind === 'pieces' && state.reader.paused);
  }

  /** Expects an answer, and resolves with its head. See `RangeConnection.request`. */
  start(onInterim: ((head: MessageHead) => void) | undefined): Promise<MessageHead> {
    this.#headBuffer.clear();
    this.#held.clear();
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
      this.fail(givenUp());
      return Promise.reject(
        new MillraceError('wrong-length', {
          code: 'length-instead',
          values: { hasBytes: framing.bytes, wantedBytes: into.length },
        }),
      );
    }
    return new Promise((resolve, reject) => {
      const memory = new BodyMemory(into);
      const state = { kind: 'body', memory, onBytes, resolve, reject } as const;
      this.#state = state;
      this.#line.limitSilence();
      let early = 0;
      for (const bytes of [this.#headBuffer.rest, ...this.#held.takeAll()]) {
        if (!memory.take(bytes.length, bytes)) return this.fail(tooLong());
        early += bytes.length;
      }
      // An empty body is complete without another read.
      if (early > 0 || into.length === 0) this.#took(state, early);
      if (this.#state === state && !this.#held.end()) this.#line.resume();
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
      const mends = this.#mends;
      reader = new PieceReader(head, { take, room, mends, onResume: () => this.#goOn() });
    } catch (error) {
      this.fail(givenUp());
      return Promise.reject(error);
    }
    return new Promise((resolve, reject) => {
      const state = { kind: 'pieces', reader, resolve, reject } as const;
      this.#state = state;
      this.#line.limitSilence();
      if (this.#piecesRead(state, this.#headBuffer.rest)) this.#goOn();
    });
  }

  /** Ends the exchange without its body; the connection stays open only if the body is empty. */
  discard(): void {
    const framing = this.#head?.framing;
    const empty = framing?.kind === 'none' || (framing?.kind === 'length' && framing.bytes === 0);
    const isRead = this.#headBuffer.rest.length + this.#held.count === 0;
    if (this.#state.kind === 'held' && empty && isRead) this.#finish();
    else this.fail(givenUp());
  }

  /** Closes the connection, and fails the exchange that is running, if there is one. */
  fail(error: Error): void {
    const state = this.#state;
    this.#state = { kind: 'closed' };
    this.#line.close();
    if (state.kind === 'pieces') state.reader.stop();
    if ('reject' in state) state.reject(error);
  }

  /** Fails the exchange with an error of the connection, behind the bytes that came before it. */
  onError(error: Error): void {
    this.#atEnd(() => this.fail(error));
  }

  /** Acts on the end of the bytes, which completes some bodies. */
  onEnd(): void {
    this.#atEnd(() => this.#ended());
  }

  /** Returns memory for the next read. */
  room(): Uint8Array {
    const state = this.#state;
    if (this.isHeldBack && this.#line.isEncrypted()) return this.#held.room(this.#lent);
    if (state.kind === 'pieces') {
      const memory = state.reader.room?.();
      if (memory !== undefined) return memory;
      this.#bodyBuffer ??= Buffer.allocUnsafeSlow(BODY_BUFFER_BYTES);
      return this.#bodyBuffer;
    }
    if (state.kind === 'body') return state.memory.room();
    return this.#headBuffer.room;
  }

  /**
   * Takes the bytes just read.
   *
   * @param buffer memory that `room` returned
   * @returns false to stop reading
   */
  onRead(count: number, buffer: Uint8Array): boolean {
    const state = this.#state;
    switch (state.kind) {
      case 'body':
        if (state.memory.take(count, buffer)) this.#took(state, count);
        else this.fail(tooLong());
        return true;
      case 'head':
        return this.#headRead(state, buffer.subarray(0, count));
      case 'held':
      case 'pieces':
        if (state.kind === 'held' || state.reader.paused) {
          // TLS gives out all that it has decrypted, whether it is held back or not.
          if (!this.#held.add(buffer.subarray(0, count))) this.fail(tooLong());
          return false;
        }
        // The receiver copies the bytes from whichever memory they were read into.
        this.#lent = buffer;
        return this.#piecesRead(state, Buffer.from(buffer.buffer, buffer.byteOffset, count));
      default:
        // No request is running, so these bytes are not an answer.
        this.fail(new MillraceError('malformed-response', { code: 'unasked-bytes' }));
        return false;
    }
  }

  /** @returns false to stop reading */
  #headRead(state: Extract<State, { kind: 'head' }>, bytes: Uint8Array): boolean {
    let head: MessageHead | undefined;
    try {
      head = this.#headBuffer.push(bytes, state.onInterim);
    } catch (error) {
      this.fail(error as Error);
      return false;
    }
    // The receiver of an interim response may give up.
    if (this.#state !== state) return false;
    if (head === undefined) return true;
    this.#head = head;
    this.#line.onHead();
    this.#state = { kind: 'held' };
    state.resolve(head);
    // Hold back the body until the caller chooses its target.
    this.#line.pause();
    return false;
  }

  /** @returns false to stop reading */
  #piecesRead(state: Extract<State, { kind: 'pieces' }>, bytes: Buffer): boolean {
    const { reader } = state;
    let used: number;
    try {
      used = reader.push(bytes);
    } catch (error) {
      this.fail(error as Error);
      return false;
    }
    if (this.#state !== state) return false;
    if (reader.ended) {
      reader.stop();
      this.#finish();
      // Surplus bytes answer no request and must never become the next answer.
      if (used < bytes.length || this.#held.count > 0) this.fail(givenUp());
      state.resolve();
      return used === bytes.length;
    }
    if (reader.paused) this.#line.pause();
    return !reader.paused;
  }

  /** Acts on the end of the connection, behind all bytes that the receiver has not got yet. */
  #atEnd(act: () => void): void {
    if (this.isHeldBack || this.#held.count > 0) this.#held.keepEnd(act);
    else act();
  }

  /** Passes on what came while the receiver was not ready, and reads on once that is done. */
  #goOn(): void {
    const state = this.#state;
    if (state.kind !== 'pieces') return;
    this.#line.limitSilence();
    for (let bytes = this.#held.take(); bytes !== undefined; bytes = this.#held.take()) {
      if (!this.#piecesRead(state, bytes)) return;
    }
    if (!this.#held.end()) this.#line.resume();
  }

  #ended(): void {
    const state = this.#state;
    if (state.kind === 'pieces' && state.reader.close()) {
      this.#state = { kind: 'closed' };
      this.#line.close();
      state.resolve();
    } else {
      this.fail(closedEarly());
    }
  }

  #took(state: Extract<State, { kind: 'body' }>, count: number): void {
    state.onBytes(count);
    if (!state.memory.isFull) return;
    this.#finish();
    state.resolve();
  }

  #finish(): void {
    this.#state = { kind: 'idle' };
    if (this.#head?.keepAlive !== true || this.#held.hasEnd) return this.#line.close();
    this.#headBuffer.clear();
    this.#lent = undefined;
    this.#line.onIdle();
  }
}
