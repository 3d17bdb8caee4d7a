/** Passes a body on piece by piece, however it is delimited, to a receiver that may pause it. */

import { BodyDecoder, bodyFraming } from '../src/http/messages/body-decoder.ts';
import type { MessageHead } from '../src/http/messages/message-head.ts';

/**
 * Takes a piece of a body, which must be copied before it returns.
 *
 * @returns false to get no more pieces until `resume` is called, except bytes already read
 */
export type TakePiece = (piece: Buffer, resume: () => void) => boolean;

/**
 * Returns memory to read the next bytes of a body into, so that the receiver need not copy them;
 * undefined: any memory. It is called again after every piece. The earlier memory is not written to
 * after that, nor once `pipe` has settled, or the body has been discarded.
 */
export type RoomForPiece = () => Uint8Array | undefined;

export interface PieceReaderOptions {
  readonly take: TakePiece;
  /** Used only if the body has a Content-Length: a chunked body has framing between its bytes. */
  readonly room: RoomForPiece | undefined;
  /** See `RangeConnectionOptions.mends`. */
  readonly mends?: boolean | undefined;
  /** Called when the receiver wants more again. */
  readonly onResume: () => void;
}

export class PieceReader {
  readonly #decoder: BodyDecoder;
  readonly #options: PieceReaderOptions;
  readonly #isPlain: boolean;
  #paused = false;
  #stopped = false;

  /** @throws MillraceError `malformed-response` if the body has an unknown transfer coding */
  constructor(head: MessageHead, options: PieceReaderOptions) {
    const framing = bodyFraming(head, options.mends);
    this.#isPlain = framing.kind === 'length';
    this.#decoder = new BodyDecoder(framing, options.mends);
    this.#options = options;
  }

  /** Memory to read the next bytes into; undefined: any memory. */
  get room(): RoomForPiece | undefined {
    return this.#isPlain ? this.#options.room : undefined;
  }

  /** True while the receiver wants no more. */
  get paused(): boolean {
    return this.#paused;
  }

  /** True once the body is complete. */
  get ended(): boolean {
    return this.#decoder.ended;
  }

  /**
   * Takes the bytes just read.
   *
   * @returns the number of bytes that belong to the body and its framing
   * @throws errors of `take`; MillraceError `malformed-response`
   */
  push(bytes: Buffer): number {
    return this.#decoder.push(bytes, (start, end) => {
      // The receiver may give up in the middle of a read.
      if (this.#stopped) return;
      if (!this.#options.take(bytes.subarray(start, end), this.#resume)) this.#paused = true;
    });
  }

  /** Notes that the connection has ended. @returns true if that completes the body */
  close(): boolean {
    return this.#decoder.close();
  }

  /** Passes nothing on any more. */
  stop(): void {
    this.#stopped = true;
  }

  readonly #resume = (): void => {
    if (this.#stopped || !this.#paused) return;
    this.#paused = false;
    this.#options.onResume();
  };
}
