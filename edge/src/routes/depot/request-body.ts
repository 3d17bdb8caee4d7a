/** The body of a request, read piece by piece, from a client that has to keep a least pace. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { LeastPace } from '@millrace/shared/cdn/clients/least-pace';
import { streamOf } from '../../clients/connection.ts';
import { LEAST_PACE, PACE_PAUSE_MS } from '../../depot/append.ts';

/** Events after which there may be something to read, or will never be. */
const EVENTS = ['readable', 'end', 'close', 'error', 'aborted'] as const;

export class RequestBody {
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  readonly #signal: AbortSignal;
  readonly #now: () => Millis;
  readonly #pace = new LeastPace(LEAST_PACE, PACE_PAUSE_MS);
  /** Ends the wait for bytes, if there is one. */
  #wake: (() => void) | undefined;
  /** Runs while bytes are waited for, and a little longer: each new one would cost as much again. */
  #timer: NodeJS.Timeout | undefined;
  /** When the client will have been too slow, unless bytes come. */
  #lateAt: Millis = 0;

  /**
   * @param signal ends the reading
   * @param now monotonic milliseconds
   */
  constructor(req: IncomingMessage, res: ServerResponse, signal: AbortSignal, now: () => Millis) {
    this.#req = req;
    this.#res = res;
    this.#signal = signal;
    this.#now = now;
    // Without a listener, an error of the connection would also end the process.
    const wake = () => this.#wake?.();
    for (const event of EVENTS) req.on(event, wake);
    req.once('close', () => clearTimeout(this.#timer));
    signal.addEventListener('abort', wake, { once: true });
    if (req.headers.expect !== undefined) res.writeContinue();
  }

  /**
   * Reads the next bytes.
   *
   * @returns undefined at the end of a whole body
   * @throws MillraceError `interrupted` if the client has left, `upload-too-slow`; the reason of the
   *   signal
   */
  async next(): Promise<Buffer | undefined> {
    const begunAt = this.#now();
    for (;;) {
      this.#signal.throwIfAborted();
      const bytes = this.#req.read() as Buffer | null;
      if (bytes !== null) {
        this.#pace.came(bytes.length, this.#now() - begunAt);
        return bytes;
      }
      if (this.#req.readableEnded) {
        if (this.#isWhole()) return undefined;
        throw new MillraceError('interrupted', 'client left');
      }
      if (this.#req.destroyed) throw new MillraceError('interrupted', 'client left');
      const leftMs = begunAt + this.#pace.leftMs - this.#now();
      if (leftMs <= 0) {
        throw new MillraceError('upload-too-slow', `less than ${LEAST_PACE / 1024} KiB/s came`);
      }
      await this.#wait(leftMs);
    }
  }

  /**
   * Reads a small body.
   *
   * @throws MillraceError as `next`; `bad-request` if it is too long
   */
  async text(mostBytes: number): Promise<string> {
    const parts: Buffer[] = [];
    let length = 0;
    for (let part = await this.next(); part !== undefined; part = await this.next()) {
      length += part.length;
      if (length > mostBytes) throw new MillraceError('bad-request', 'the body is too long');
      parts.push(part);
    }
    return Buffer.concat(parts).toString();
  }

  /** Returns false for a body whose end is only that of its connection or stream. */
  #isWhole(): boolean {
    const stream = streamOf(this.#res);
    if (stream === undefined) return this.#req.complete;
    return !stream.aborted && !stream.closed;
  }

  /** Resolves when there may be something to read, or the client has been too slow. */
  async #wait(ms: Millis): Promise<void> {
    this.#lateAt = this.#now() + ms;
    this.#timer ??= setTimeout(() => this.#onTimer(), Math.max(0, ms));
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    this.#wake = undefined;
  }

  /** Looks whether the client is too slow, or when it will be. */
  #onTimer(): void {
    this.#timer = undefined;
    if (this.#wake === undefined) return;
    const leftMs = this.#lateAt - this.#now();
    if (leftMs > 0) this.#timer = setTimeout(() => this.#onTimer(), leftMs);
    else this.#wake();
  }
}
