/** The body of an answer to a pull, read piece by piece, from a source that has to keep a least pace. */

import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { LeastPace } from '@millrace/shared/cdn/clients/least-pace';
import type { HttpResponse } from '@millrace/shared/node/http-response';
import { LEAST_PACE, PACE_PAUSE_MS } from '../append.ts';

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
  readonly #pace = new LeastPace(LEAST_PACE, PACE_PAUSE_MS);
  readonly #pieces: Buffer[] = [];
  #queued = 0;
  #came = 0;
  #resume: (() => void) | undefined;
  #ended = false;
  #failure: MillraceError | undefined;
  #wake = () => {};

  constructor(answer: Pick<HttpResponse, 'pipe' | 'discard'>, options: PulledBodyOptions) {
    this.#answer = answer;
    this.#options = options;
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
    const { signal, now } = this.#options;
    const begunAt = now();
    for (;;) {
      signal.throwIfAborted();
      const piece = this.#shift();
      if (piece !== undefined) {
        this.#pace.came(piece.length, now() - begunAt);
        this.#goOn();
        return piece;
      }
      if (this.#failure !== undefined) throw this.#failure;
      if (this.#ended) return undefined;
      await this.#wait(begunAt + this.#pace.leftMs - now());
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
    this.#wake();
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
    this.#wake();
  }

  #fail(error: MillraceError): void {
    this.#failure ??= error;
    this.#answer.discard();
    this.#wake();
  }

  /** Resolves when there may be something to read, or the source has been too slow. */
  #wait(ms: Millis): Promise<void> {
    const { signal } = this.#options;
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.#wake = () => {};
        signal.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(
        () => {
          const words = `less than ${LEAST_PACE / 1024} KiB/s came`;
          this.#fail(new MillraceError('origin-timeout', words));
        },
        Math.max(0, ms),
      );
      this.#wake = done;
      signal.addEventListener('abort', done, { once: true });
    });
  }
}
