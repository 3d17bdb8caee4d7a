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

  /**
   * @param signal ends the reading
   * @param now monotonic milliseconds
   */
  constructor(req: IncomingMessage, res: ServerResponse, signal: AbortSignal, now: () => Millis) {
    this.#req = req;
    this.#res = res;
    this.#signal = signal;
    this.#now = now;
    // Without a listener, an error of the connection would end the process.
    req.on('error', () => {});
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
      await this.#wait(begunAt + this.#pace.leftMs - this.#now());
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

  /** Resolves when there may be something to read. @throws MillraceError `upload-too-slow` */
  #wait(ms: Millis): Promise<void> {
    return new Promise((resolve, reject) => {
      const done = () => {
        clearTimeout(timer);
        for (const event of EVENTS) this.#req.off(event, done);
        this.#signal.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(
        () => {
          reject(new MillraceError('upload-too-slow', `less than ${LEAST_PACE / 1024} KiB/s came`));
          done();
        },
        Math.max(0, ms),
      );
      for (const event of EVENTS) this.#req.on(event, done);
      this.#signal.addEventListener('abort', done, { once: true });
    });
  }
}
