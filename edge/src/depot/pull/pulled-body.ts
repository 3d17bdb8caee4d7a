/** The body of an answer to a pull, read piece by piece, from a source that has to keep a least pace. */

import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import type { HttpResponse } from '@millrace/shared/node/http-response';
import { PacedWait, TOO_SLOW } from '../paced-wait.ts';

/** Memory of pieces that have come and are not stored yet, above which the source is held back. */
export const QUEUE_BYTES = 256 * 1024;
/** Memory that a piece takes besides its bytes: a source may send each byte as a chunk of its own. */
const PIECE_BYTES = 256;
/** Longest piece that is joined with its neighbours, and longest joined one. */
const SMALL_BYTES = 4 * 1024;
const JOINED_BYTES = 64 * 1024;

export interface PulledBodyOptions {
  /** Bytes that the body must have. */
  readonly bytes: number;
  /** Ends the reading. */
  readonly signal: AbortSignal;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
}

export class PulledBody {
  readonly #answer: Pick<HttpResponse, 'pipe' | 'discard'>;
  readonly #options: PulledBodyOptions;
  readonly #wait: PacedWait;
  readonly #onAbort = () => this.#stopWaiting();
  readonly #pieces: Buffer[] = [];
  #queued = 0;
  #came = 0;
  #resume: (() => void) | undefined;
  #ended = false;
  #failure: MillraceError | undefined;

  constructor(answer: Pick<HttpResponse, 'pipe' | 'discard'>, options: PulledBodyOptions) {
    this.#answer = answer;
    this.#options = options;
    this.#wait = new PacedWait(options.now);
    options.signal.addEventListener('abort', this.#onAbort, { once: true });
    answer
      .pipe((piece, resume) => this.#take(piece, resume))
      .then(
        () => this.#end(),
        (error: unknown) => this.#fail(asMillraceError(error)),
      );
  }

  /** True once more bytes have come than the body must have: none of them can be trusted. */
  get isTooLong(): boolean {
    return this.#came > this.#options.bytes;
  }

  /**
   * Reads the next bytes.
   *
   * @returns undefined at the end of a whole body
   * @throws MillraceError the failure of the source; the signal's reason
   */
  async next(): Promise<Buffer | undefined> {
    this.#wait.begin();
    for (;;) {
      this.#options.signal.throwIfAborted();
      const piece = this.#shift();
      if (piece !== undefined) {
        this.#wait.came(piece.length);
        this.#goOn();
        return piece;
      }
      if (this.#failure !== undefined) throw this.#failure;
      if (this.#ended) return undefined;
      if (!(await this.#wait.more())) this.#fail(new MillraceError('origin-timeout', TOO_SLOW));
    }
  }

  /** Removes and returns the first piece, with those that follow it if all are small. */
  #shift(): Buffer | undefined {
    let [count, bytes] = [0, 0];
    for (const { length } of this.#pieces) {
      if (count > 0 && (length > SMALL_BYTES || bytes + length > JOINED_BYTES)) break;
      count++;
      bytes += length;
      if (length > SMALL_BYTES) break;
    }
    const taken = this.#pieces.splice(0, count);
    this.#queued -= bytes + count * PIECE_BYTES;
    return count > 1 ? Buffer.concat(taken, bytes) : taken[0];
  }

  /** Takes a piece from the source. @returns false to hold it back */
  #take(piece: Buffer, resume: () => void): boolean {
    const { bytes } = this.#options;
    this.#came += piece.length;
    if (this.#came > bytes) {
      this.#fail(new MillraceError('wrong-length', `more than ${bytes} bytes`));
      return true;
    }
    this.#pieces.push(piece);
    this.#queued += piece.length + PIECE_BYTES;
    this.#wait.wake();
    if (this.#queued < QUEUE_BYTES) return true;
    this.#resume = resume;
    return false;
  }

  /** Lets the source send again once there is room. */
  #goOn(): void {
    if (this.#resume === undefined || this.#queued >= QUEUE_BYTES) return;
    const resume = this.#resume;
    this.#resume = undefined;
    resume();
  }

  #end(): void {
    const { bytes } = this.#options;
    if (this.#came !== bytes) {
      this.#fail(new MillraceError('wrong-length', `${this.#came} of ${bytes} bytes`));
    }
    this.#ended = true;
    this.#stopWaiting();
  }

  #fail(error: MillraceError): void {
    this.#failure ??= error;
    this.#answer.discard();
    this.#stopWaiting();
  }

  #stopWaiting(): void {
    this.#wait.wake();
    this.#wait.end();
    this.#options.signal.removeEventListener('abort', this.#onAbort);
  }
}
