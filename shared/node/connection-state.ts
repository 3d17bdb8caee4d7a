/** Options and states of a connection for GET requests (`range-connection.ts`). */

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
      readonly into: Buffer;
      readonly onBytes: (count: number) => void;
    } & Waiting<void>)
  | ({ readonly kind: 'pieces'; readonly reader: PieceReader } & Waiting<void>)
  | { readonly kind: 'closed' };

/** Makes the error for bytes that no Content-Length has announced, or nobody has asked for. */
export function tooLong(): MillraceError {
  return new MillraceError('wrong-length', 'more bytes than announced');
}
