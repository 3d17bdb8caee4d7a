/** Options and states of a connection for GET requests (`range-connection.ts`, `answer-reader.ts`). */

import type { LookupFunction } from 'node:net';
import { MillraceError } from '../src/base/errors.ts';
import type { MessageHead } from '../src/http/messages/message-head.ts';
import type { ClientTls } from './open-socket.ts';
import type { PieceReader } from './piece-reader.ts';

export interface RangeConnectionOptions {
  readonly lookup?: LookupFunction;
  /** Longest wait for an answer, and longest silence, milliseconds. */
  readonly timeoutMs: number;
  readonly connectTimeoutMs: number;
  /** Longest time until the head is complete, interim ones included, ms; by default 10 minutes. */
  readonly headTimeoutMs?: number;
  /** True to accept answers that break the rules of HTTP as long as they are not ambiguous. */
  readonly mends?: boolean;
  /** Returns certificates for connections to an origin. */
  readonly tls?: (url: URL) => ClientTls | undefined;
}

/** The connection that answers come on. */
export interface AnswerLine {
  /** Returns true if bytes may come while the line is paused, as over TLS. */
  isEncrypted(): boolean;
  pause(): void;
  resume(): void;
  /** Limits the silence from now on. */
  limitSilence(): void;
  /** Called when a head is complete. */
  onHead(): void;
  /** Called when an answer is complete and another request may follow. */
  onIdle(): void;
  /** Closes the connection at once. */
  close(): void;
}

/** Memory of a receiver for a whole body, which has the same length. */
export class BodyMemory {
  readonly #into: Buffer;
  #filled = 0;
  /** The memory that was handed to the kernel for the next read, if it is of this body. */
  #direct: Uint8Array | undefined;

  constructor(into: Buffer) {
    this.#into = into;
  }

  get isFull(): boolean {
    return this.#filled === this.#into.length;
  }

  /** Returns the memory that is left. */
  room(): Uint8Array {
    this.#direct = this.#into.subarray(this.#filled);
    return this.#direct;
  }

  /** Takes the bytes just read, wherever they were read to. @returns false if they are too many */
  take(count: number, buffer: Uint8Array): boolean {
    // The first read after the head goes to memory that was handed out before the body's target
    // was known.
    if (buffer !== this.#direct) {
      if (this.#filled + count > this.#into.length) return false;
      this.#into.set(buffer.subarray(0, count), this.#filled);
    }
    this.#filled += count;
    return true;
  }
}

interface Waiting<T> {
  resolve(value: T): void;
  reject(error: Error): void;
}

export type State =
  | { readonly kind: 'idle' }
  | ({
      readonly kind: 'head';
      readonly onInterim: ((head: MessageHead) => void) | undefined;
    } & Waiting<MessageHead>)
  | { readonly kind: 'held' }
  | ({
      readonly kind: 'body';
      readonly memory: BodyMemory;
      readonly onBytes: (count: number) => void;
    } & Waiting<void>)
  | ({ readonly kind: 'pieces'; readonly reader: PieceReader } & Waiting<void>)
  | { readonly kind: 'closed' };

/** Makes the error for bytes that no Content-Length has announced, or nobody has asked for. */
export function tooLong(): MillraceError {
  return new MillraceError('wrong-length', { code: 'more-than-announced' });
}

/** Makes the error for a connection that ended before its answer was complete. */
export function closedEarly(): MillraceError {
  return new MillraceError('origin-reset', { code: 'closed-early' });
}

/** Makes the error for an answer that is of no use any more. */
export function givenUp(): MillraceError {
  return new MillraceError('origin-reset', { code: 'given-up' });
}
