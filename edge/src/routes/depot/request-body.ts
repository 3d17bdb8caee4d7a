/** The body of a request, read piece by piece, from a client that has to keep a least pace. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { isWhole } from '../../clients/request-bodies.ts';
import { PacedWait, TOO_SLOW } from '../../depot/paced-wait.ts';

/** Events after which there may be something to read, or will never be. */
const EVENTS = ['readable', 'end', 'close', 'error', 'aborted'] as const;

export class RequestBody {
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  readonly #signal: AbortSignal;
  readonly #wait: PacedWait;

  /**
   * @param signal ends the reading
   * @param now monotonic milliseconds
   */
  constructor(req: IncomingMessage, res: ServerResponse, signal: AbortSignal, now: () => Millis) {
    this.#req = req;
    this.#res = res;
    this.#signal = signal;
    this.#wait = new PacedWait(now);
    // Without a listener, an error of the connection would also end the process.
    const wake = () => this.#wait.wake();
    for (const event of EVENTS) req.on(event, wake);
    req.once('close', () => this.#wait.end());
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
    this.#wait.begin();
    for (;;) {
      this.#signal.throwIfAborted();
      const bytes = this.#req.read() as Buffer | null;
      if (bytes !== null) {
        this.#wait.came(bytes.length);
        return bytes;
      }
      if (this.#req.readableEnded) {
        if (isWhole(this.#req, this.#res)) return undefined;
        throw new MillraceError('interrupted', 'client left');
      }
      if (this.#req.destroyed) throw new MillraceError('interrupted', 'client left');
      if (!(await this.#wait.more())) throw new MillraceError('upload-too-slow', TOO_SLOW);
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
}
