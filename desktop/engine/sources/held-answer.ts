/**
 * The answer to a download's first request, which asks for the whole file without naming an end. It
 * is read in parts, and waits between them. While no other request has been served it stays open:
 * a link that works only once has no other answer.
 */

import type { ByteRange } from '@millrace/shared/base/byte-range';
import { MillraceError } from '@millrace/shared/base/errors';
import type { OpenAnswer, Sink } from '@millrace/shared/download/transfer/transfer-ports';
import type { RoomForPiece } from '@millrace/shared/node/piece-reader';
import type { DownloadSource } from './download-source.ts';
import type { Opened } from './source-answer.ts';

/**
 * Most bytes that are skipped for a reader that begins further on: one piece as it was received, of
 * which an earlier reader has stored a part before it stopped.
 */
const MOST_SKIPPED_BYTES = 1024 * 1024;

interface Reader {
  readonly start: number;
  readonly end: number;
  readonly sink: Sink;
  readonly room: RoomForPiece | undefined;
  resolve(): void;
  reject(error: unknown): void;
}

export class HeldAnswer {
  readonly source: DownloadSource;
  readonly #opened: Extract<Opened, { kind: 'range' }>;
  #position: number;
  /** True from the moment a request was given the answer until it reads. */
  #isPromised = false;
  #reader: Reader | undefined;
  /** Wakes the body, which waits for a reader. */
  #wake: (() => void) | undefined;
  /** Bytes that wait for a reader, or for an earlier piece that does. */
  #waiting: Promise<void> | undefined;
  #begun = false;
  #over = false;
  #isNeeded = true;
  /** True once somebody was told how long its head took. */
  #isTimed = false;

  /** @param opened an answer whose bytes come in order, and of which none has been read */
  constructor(source: DownloadSource, opened: Extract<Opened, { kind: 'range' }>) {
    this.source = source;
    this.#opened = opened;
    this.#position = opened.range.start;
  }

  /** The first byte that has not been read yet. */
  get position(): number {
    return this.#position;
  }

  /** End of its last byte. */
  get end(): number {
    return this.#opened.range.end;
  }

  /** True if it can bring more bytes. */
  get isOpen(): boolean {
    return !this.#over;
  }

  /** True until its source has served another request. */
  get isNeeded(): boolean {
    return this.#isNeeded;
  }

  /**
   * Returns the answer for a range that begins where it waits, or a little further on.
   *
   * @param isStored tells whether all bytes of a range are stored: no others are skipped, because
   *   no other answer may bring them
   */
  answerTo(
    source: DownloadSource,
    range: ByteRange,
    signal: AbortSignal,
    isStored: (range: ByteRange) => boolean,
  ): OpenAnswer | undefined {
    const skipped = { start: this.#position, end: range.start };
    const ahead = skipped.end - skipped.start;
    const isNext = source === this.source && ahead >= 0 && ahead <= MOST_SKIPPED_BYTES;
    if (this.#over || this.#isPromised || this.#reader !== undefined || !isNext) return undefined;
    if (range.end > this.#opened.range.end) return undefined;
    if (ahead > 0 && !isStored(skipped)) return undefined;
    this.#isPromised = true;
    const headMs = this.#isTimed ? undefined : this.#opened.headMs;
    this.#isTimed = true;
    return {
      checked: false,
      defines: this.#isNeeded,
      headMs,
      read: (sink, room) => this.read(range.end, sink, signal, range.start, room),
    };
  }

  /**
   * Reads up to a position, and then waits there.
   *
   * @param start the first byte that the sink gets; by default the first that was not read yet
   * @param room memory for the next bytes of the sink
   * @throws MillraceError of the body; the signal's reason, and errors of the sink: the bytes from
   *   `position` on can then still be read
   */
  async read(
    end: number,
    sink: Sink,
    signal: AbortSignal,
    start = this.#position,
    room?: RoomForPiece,
  ): Promise<void> {
    this.#isPromised = false;
    signal.throwIfAborted();
    const done = Promise.withResolvers<void>();
    const reader = { start, end, sink, room, resolve: done.resolve, reject: done.reject };
    const onAbort = () => this.#finish(reader, { error: signal.reason });
    signal.addEventListener('abort', onAbort, { once: true });
    this.#reader = reader;
    this.#wake?.();
    this.#begin();
    try {
      await done.promise;
    } finally {
      signal.removeEventListener('abort', onAbort);
      if (!this.#isNeeded) this.discard();
    }
  }

  /** Notes that the source has served another request: the answer ends with its present reader. */
  release(): void {
    this.#isNeeded = false;
    if (this.#reader === undefined) this.discard();
  }

  discard(): void {
    if (this.#over) return;
    this.#over = true;
    this.#opened.discard();
    this.#finish(this.#reader, { error: new MillraceError('origin-reset', { code: 'given-up' }) });
  }

  #begin(): void {
    if (this.#begun) return;
    this.#begun = true;
    this.#opened
      .read(
        (_position, bytes) => this.#take(bytes),
        () => this.#room(),
      )
      // The body ends once it has been received: its last piece may still wait for a reader.
      .then(() => this.#waiting)
      .then(
        () => this.#onEnd({}),
        (error) => this.#onEnd({ error }),
      );
  }

  /**
   * Memory of the reader is used only once the connection is closed with its reader: otherwise the
   * next bytes would be read into memory that has other uses by then.
   */
  #room(): Uint8Array | undefined {
    if (this.#isNeeded || this.#waiting !== undefined || this.#reader === undefined)
      return undefined;
    return this.#position >= this.#reader.start ? this.#reader.room?.() : undefined;
  }

  #onEnd(outcome: { readonly error?: unknown }): void {
    this.#over = true;
    this.#finish(this.#reader, outcome);
  }

  #take(bytes: Uint8Array): Promise<void> | undefined {
    const reader = this.#reader;
    // Nothing to skip, nothing to wait for: a promise would only have the source pause again.
    const isIdle = reader !== undefined && this.#waiting === undefined;
    if (bytes.length === 0 && isIdle) return undefined;
    const isWithin =
      reader !== undefined &&
      this.#position >= reader.start &&
      this.#position + bytes.length < reader.end;
    // More pieces of what was read at once may follow before an earlier one has been taken.
    if (!isWithin || this.#waiting !== undefined) return this.#queue(bytes);
    try {
      const wait = reader.sink(this.#position, bytes);
      this.#position += bytes.length;
      return wait?.catch((error) => this.#finish(reader, { error }));
    } catch (error) {
      this.#finish(reader, { error });
      return this.#queue(bytes);
    }
  }

  /** Copies bytes, of which a later reader may get some, and passes them on in their turn. */
  #queue(bytes: Uint8Array): Promise<void> {
    const copy = Uint8Array.from(bytes);
    const before = this.#waiting ?? Promise.resolve();
    const mine: Promise<void> = before
      .then(() => this.#takeSlowly(copy))
      .finally(() => {
        if (this.#waiting === mine) this.#waiting = undefined;
      });
    this.#waiting = mine;
    return mine;
  }

  /** Passes bytes on; resolves once there is a reader for the bytes behind them. */
  async #takeSlowly(bytes: Uint8Array): Promise<void> {
    let rest = bytes;
    for (;;) {
      const isLast = this.#position === this.#opened.range.end;
      const reader = this.#reader;
      // The end of the body shows whether the body is complete.
      if (this.#over || (rest.length === 0 && (isLast || reader !== undefined))) return;
      if (reader === undefined) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        continue;
      }
      const skipped = Math.min(rest.length, Math.max(0, reader.start - this.#position));
      this.#position += skipped;
      rest = rest.subarray(skipped);
      const count = Math.min(rest.length, reader.end - this.#position);
      try {
        const wait = reader.sink(this.#position, rest.subarray(0, count));
        this.#position += count;
        rest = rest.subarray(count);
        await wait;
      } catch (error) {
        this.#finish(reader, { error });
        continue;
      }
      if (this.#position === reader.end && this.#position < this.#opened.range.end) {
        this.#finish(reader, {});
      }
    }
  }

  #finish(reader: Reader | undefined, outcome: { readonly error?: unknown }): void {
    if (reader === undefined) return;
    if (this.#reader === reader) this.#reader = undefined;
    if ('error' in outcome) reader.reject(outcome.error);
    else reader.resolve();
  }
}
