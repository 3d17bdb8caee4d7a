/** The bytes of a file that comes to another node in one stream, in order, as that node has them. */

import type { ByteRange } from '@millrace/shared/base/byte-range';
import { asMillraceError, isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { requestsAhead } from '@millrace/shared/cdn/chunks/stream-plan';
import { PeerFailure } from '@millrace/shared/cdn/fetch/peer-failure';
import type { StreamPiece } from '../peers/stream-pieces.ts';
import type { StreamBody } from './stream-types.ts';

export interface FollowedBodyOptions {
  /** Position to begin at, the start of a chunk. */
  readonly from: number;
  readonly sources: readonly string[];
  readonly chunkBytes: number;
  /** Fetches what has come of a range. @throws PeerFailure; MillraceError */
  readonly fetch: (range: ByteRange, signal: AbortSignal) => Promise<StreamPiece>;
}

interface Asked {
  readonly range: ByteRange;
  readonly piece: Promise<StreamPiece>;
}

/** Codes of a node that does not have the stream (any more), although it is well. */
const GONE = ['not-cached', 'bad-chunk-name'] as const;

export class FollowedBody implements StreamBody {
  readonly #options: FollowedBodyOptions;
  readonly #stop = new AbortController();
  readonly #asked: Asked[] = [];
  #isLost = false;

  constructor(options: FollowedBodyOptions) {
    this.#options = options;
  }

  get from(): number {
    return this.#options.from;
  }

  get sources(): readonly string[] {
    return this.#options.sources;
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  async pipe(write: (piece: Buffer, resume: () => void) => boolean): Promise<void> {
    let position = this.from;
    let next = this.from;
    let ahead = 1;
    try {
      for (;;) {
        while (this.#asked.length < ahead) next = this.#ask(next);
        const { range, piece } = this.#asked[0] as Asked;
        const come = await this.#unlessStopped(piece);
        // Until here `discard` gives its memory back.
        this.#stop.signal.throwIfAborted();
        this.#asked.shift();
        const { length, bytes } = await this.#write(come, write);
        position += bytes;
        if (length !== undefined && position >= length) {
          if (position === length) return;
          throw new MillraceError('malformed-response', 'a stream is longer than its node says');
        }
        const isWhole = position === range.end;
        // The rest of this chunk comes before all that has been asked for beyond.
        if (!isWhole) this.#askFirst({ start: position, end: range.end });
        ahead = requestsAhead(ahead, isWhole);
      }
    } catch (error) {
      this.#isLost =
        error instanceof PeerFailure || GONE.some((code) => isMillraceError(error, code));
      throw asMillraceError(error instanceof PeerFailure ? error.reason : error);
    } finally {
      this.discard();
    }
  }

  /** Ends all requests, and gives the memory of their answers back. */
  discard(): void {
    this.#stop.abort(new MillraceError('interrupted', 'nobody follows the stream'));
    for (const { piece } of this.#asked.splice(0)) {
      piece.then(
        ({ buffer }) => buffer.release(),
        () => {},
      );
    }
  }

  /** Writes a piece, and waits until the next one may come. */
  async #write(
    { buffer, length }: StreamPiece,
    write: (piece: Buffer, resume: () => void) => boolean,
  ): Promise<{ bytes: number; length: number | undefined }> {
    const bytes = buffer.data.length;
    try {
      if (bytes > 0) {
        let resume = () => {};
        const ready = new Promise<void>((resolve) => {
          resume = resolve;
        });
        if (!write(buffer.data, resume)) await this.#unlessStopped(ready);
      }
    } finally {
      buffer.release();
    }
    return { bytes, length };
  }

  /** @returns where the next chunk begins */
  #ask(start: number): number {
    const { chunkBytes } = this.#options;
    const end = start - (start % chunkBytes) + chunkBytes;
    this.#asked.push(this.#request({ start, end }));
    return end;
  }

  #askFirst(range: ByteRange): void {
    this.#asked.unshift(this.#request(range));
  }

  #request(range: ByteRange): Asked {
    const piece = this.#options.fetch(range, this.#stop.signal);
    // It may fail before anybody waits for it.
    piece.catch(() => {});
    return { range, piece };
  }

  async #unlessStopped<T>(result: Promise<T>): Promise<T> {
    const { signal } = this.#stop;
    signal.throwIfAborted();
    let abort = () => {};
    const stopped = new Promise<never>((_, reject) => {
      abort = () => reject(signal.reason);
      signal.addEventListener('abort', abort, { once: true });
    });
    try {
      return await Promise.race([result, stopped]);
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }
}
