/** Hands a body on piece by piece, however it is delimited, to a receiver that may pause it. */

import { BodyDecoder, bodyFraming } from '../src/http/messages/body-decoder.ts';
import type { MessageHead } from '../src/http/messages/message-head.ts';

/**
 * Takes a piece of a body, which must be copied before it returns.
 *
 * @returns false to get no more until `resume` is called, except bytes that have already been read
 */
export type TakePiece = (piece: Buffer, resume: () => void) => boolean;

/**
 * Memory to read the next bytes of a body into, so that the receiver need not copy them. It is
 * requested again after every piece, and no longer written to after that, or once `pipe` has
 * settled.
 */
export type RoomForPiece = () => Uint8Array;

export interface PieceReaderOptions {
  readonly take: TakePiece;
  /** Used where the body has a Content-Length: otherwise lengths stand between its bytes. */
  readonly room: RoomForPiece | undefined;
  /** More is wanted again. */
  readonly onResume: () => void;
}

export class PieceReader {
  readonly #decoder: BodyDecoder;
  readonly #options: PieceReaderOptions;
  readonly #isPlain: boolean;
  #paused = false;
  #stopped = false;

  /** @throws MillraceError `malformed-response` where the end of the body cannot be known */
  constructor(head: MessageHead, options: PieceReaderOptions) {
    const framing = bodyFraming(head);
    this.#isPlain = framing.kind === 'length';
    this.#decoder = new BodyDecoder(framing);
    this.#options = options;
  }

  /** Where the next bytes are read into; undefined: anywhere. */
  get room(): RoomForPiece | undefined {
    return this.#isPlain ? this.#options.room : undefined;
  }

  /** True while no more is wanted. */
  get paused(): boolean {
    return this.#paused;
  }

  /** True when the body is complete. */
  get ended(): boolean {
    return this.#decoder.ended;
  }

  /**
   * Takes the bytes just read.
   *
   * @returns how many bytes were of the body and its framing
   * @throws errors of `take`; MillraceError `malformed-response`
   */
  push(bytes: Buffer): number {
    return this.#decoder.push(bytes, (start, end) => {
      // The taker may give up in the middle of a read.
      if (this.#stopped) return;
      if (!this.#options.take(bytes.subarray(start, end), this.#resume)) this.#paused = true;
    });
  }

  /** The connection has ended. @returns true where that completes the body */
  close(): boolean {
    return this.#decoder.close();
  }

  /** Hands nothing on any more. */
  stop(): void {
    this.#stopped = true;
  }

  readonly #resume = (): void => {
    if (this.#stopped || !this.#paused) return;
    this.#paused = false;
    this.#options.onResume();
  };
}
