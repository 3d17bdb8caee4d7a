/**
 * One response from undici: the header has arrived, and the body waits until the caller chooses its
 * target. Nothing is buffered here; an unread body is held back in the socket.
 */

import type { Dispatcher } from 'undici';
import { MillraceError } from '../src/base/errors.ts';
import type { Headers } from '../src/http/fields/headers.ts';

/** Methods of requests for files. */
export type Method = 'GET' | 'HEAD';

/** An answer whose body is read as a whole or discarded. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** The requested URL, after redirects. */
  readonly url: URL;
  /** When the request was sent and the head arrived, Unix milliseconds. */
  readonly requestedAt: number;
  readonly arrivedAt: number;
  /**
   * Reads a body of exactly `into.length` bytes into the caller's memory.
   *
   * @param onBytes called with the number of bytes whenever bytes arrive
   * @throws MillraceError `wrong-length` for a longer or cleanly ended shorter body,
   *   `origin-reset` or `origin-timeout` for a broken one
   */
  readInto(into: Buffer, onBytes: (count: number) => void): Promise<void>;
  /** Discards the body; the connection is closed if any of it is left. */
  discard(): void;
}

interface Consumer {
  data(chunk: Buffer): void;
  end(): void;
  error(error: unknown): void;
}

export class HttpResponse implements HttpAnswer {
  readonly method: Method;
  readonly status: number;
  readonly headers: Headers;
  readonly url: URL;
  readonly requestedAt: number;
  readonly arrivedAt: number;
  /** Time from the request, on an open connection, to the head of the answer, in milliseconds. */
  readonly headMs: number;
  readonly #controller: Dispatcher.DispatchController;
  #consumer: Consumer | undefined;
  #outcome: { readonly error?: unknown } | undefined;

  constructor(head: {
    method: Method;
    status: number;
    headers: Headers;
    url: URL;
    requestedAt: number;
    arrivedAt: number;
    headMs: number;
    controller: Dispatcher.DispatchController;
  }) {
    this.method = head.method;
    this.status = head.status;
    this.headers = head.headers;
    this.url = head.url;
    this.requestedAt = head.requestedAt;
    this.arrivedAt = head.arrivedAt;
    this.headMs = head.headMs;
    this.#controller = head.controller;
    this.#controller.pause();
  }

  readInto(into: Buffer, onBytes: (count: number) => void): Promise<void> {
    let filled = 0;
    let over = false;
    return this.#consume<void>((resolve, reject) => ({
      data: (chunk) => {
        if (over) return; // the memory may be in use for something else by now
        if (filled + chunk.length > into.length) {
          over = true;
          // Reject first: discarding may report another error at once.
          reject(
            new MillraceError('wrong-length', {
              code: 'too-many-bytes',
              values: { mostBytes: into.length },
            }),
          );
          this.discard();
          return;
        }
        chunk.copy(into, filled);
        filled += chunk.length;
        onBytes(chunk.length);
      },
      end: () => {
        over = true;
        if (filled === into.length) resolve();
        else
          reject(
            new MillraceError('wrong-length', {
              code: 'part-came',
              values: { hasBytes: filled, wantedBytes: into.length },
            }),
          );
      },
      error: (error) => {
        over = true;
        reject(error);
      },
    }));
  }

  /**
   * Passes the body on piece by piece.
   *
   * @param write takes a piece; returns false to hold back the body until `resume` is called
   * @returns settles when the body has ended, cleanly or not
   */
  pipe(write: (chunk: Buffer, resume: () => void) => boolean): Promise<void> {
    const resume = () => this.#controller.resume();
    return this.#consume<void>((resolve, reject) => ({
      data: (chunk) => {
        if (!write(chunk, resume)) this.#controller.pause();
      },
      end: resolve,
      error: reject,
    }));
  }

  discard(): void {
    this.#consumer ??= { data() {}, end() {}, error() {} };
    if (this.#outcome !== undefined) return;
    // The answer to a HEAD ends with its head.
    if (this.method === 'HEAD') this.#controller.resume();
    else this.#controller.abort(new Error('body not wanted'));
  }

  /**
   * Takes the next piece of the body from the client. undici begins again with an empty piece after
   * each pause. A consumer that paused for that one too, and was ready in the same turn of the event
   * loop, would get empty pieces for ever: nothing else would run any more.
   */
  onData(chunk: Buffer): void {
    if (chunk.length > 0) this.#consumer?.data(chunk);
  }

  /** Takes the outcome from the client: the body is complete (`error` absent) or broken. */
  onOutcome(outcome: { readonly error?: unknown }): void {
    this.#outcome = outcome;
    if (this.#consumer !== undefined) settle(this.#consumer, outcome);
  }

  #consume<T>(
    make: (resolve: (value: T) => void, reject: (error: unknown) => void) => Consumer,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      const consumer = make(resolve, reject);
      this.#consumer = consumer;
      if (this.#outcome === undefined) this.#controller.resume();
      else settle(consumer, this.#outcome);
    });
  }
}

function settle(consumer: Consumer, outcome: { readonly error?: unknown }): void {
  if (outcome.error === undefined) consumer.end();
  else consumer.error(outcome.error);
}
