/**
 * Uploads a stream whose length nobody knows, such as the output of a program. Its bytes cannot be read
 * twice: those that the depot has not acknowledged are kept, so that the upload goes on after a broken
 * connection or a restart of the depot. It ends with this process.
 */

import { createHash, type Hash } from 'node:crypto';
import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import type { RateLimit } from '../../download/rate-limit.ts';
import { type Allocated, allocateOpen, append, release, stateOf } from '../depot-client.ts';
import { Retry } from '../retry.ts';
import type { Uploaded, UploadObserver } from '../upload.ts';

/** Bytes of one request, which are kept until it has been answered; as many are read meanwhile. */
const PART_BYTES = 16 * 1024 * 1024;
/** Bytes that are sent at a time. */
const PIECE_BYTES = 256 * 1024;
/** Longest wait for the depot to take back what is not wanted any more. */
const RELEASE_MS: Millis = 5000;

export interface StreamUploadOptions {
  readonly input: AsyncIterable<Uint8Array | string>;
  /** Name that the file gets. */
  readonly name: string;
  /** Base URL of the depot. */
  readonly edge: string;
  readonly token: string;
  /** Time from now for which the file is stored. */
  readonly forMs: Millis;
  /** Time without progress after which the upload is given up. */
  readonly retryMs: Millis;
  readonly limit?: RateLimit | undefined;
  readonly signal: AbortSignal;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
  readonly observe: Pick<UploadObserver, 'sent' | 'retried'>;
  /** Bytes of one request; for tests. */
  readonly partBytes?: number;
}

/** A part of the stream. */
interface Part {
  readonly bytes: Buffer;
  readonly isLast: boolean;
}

/**
 * Uploads a stream. If that fails, the depot keeps nothing of it.
 *
 * @throws MillraceError `content-mismatch`; those of the depot and the network; errors of the stream
 */
export async function uploadStream(options: StreamUploadOptions): Promise<Uploaded> {
  const { edge, token, name, forMs, signal, retryMs, now, observe } = options;
  const onRetry = observe.retried.bind(observe);
  const retry = new Retry({ retryMs, signal, now, onRetry });
  const wanted = { name, seconds: Math.round(forMs / 1000) };
  const allocated = await retry.run(() => allocateOpen(edge, token, wanted, signal));
  try {
    return await new StreamUpload(options, allocated, retry).run();
  } catch (error) {
    // Nobody can continue it. A depot that does not answer keeps the space until the lease ends.
    await release(allocated.manage, AbortSignal.timeout(RELEASE_MS)).catch(() => {});
    throw error;
  }
}

class StreamUpload {
  readonly #options: StreamUploadOptions;
  readonly #allocated: Allocated;
  readonly #retry: Retry;
  readonly #hash: Hash = createHash('sha256');

  constructor(options: StreamUploadOptions, allocated: Allocated, retry: Retry) {
    this.#options = options;
    this.#allocated = allocated;
    this.#retry = retry;
  }

  async run(): Promise<Uploaded> {
    const { read: link, write, manage, expires } = this.#allocated;
    let at = 0;
    let theirs: string | undefined;
    for await (const { bytes, isLast } of this.#parts()) {
      this.#hash.update(bytes);
      theirs = await this.#send(bytes, at, isLast);
      at += bytes.length;
    }
    const sha256 = this.#hash.digest('hex');
    if (theirs !== sha256) {
      throw new MillraceError('content-mismatch', `its SHA-256 is ${theirs}, not ${sha256}`);
    }
    return { link, write, manage, expires, bytes: at, sha256, forget: async () => {} };
  }

  /** Cuts the stream into parts, of which the next one is read while one is being sent. */
  async *#parts(): AsyncGenerator<Part, void, undefined> {
    const parts = cut(this.#options.input, this.#options.partBytes ?? PART_BYTES);
    const read = () => {
      const next = parts.next();
      // Its failure counts once it is asked for.
      next.catch(() => {});
      return next;
    };
    for (let next = read(); ; ) {
      const { value, done } = await abortable(next, this.#options.signal);
      if (done === true) return;
      next = read();
      yield value;
    }
  }

  /** Sends a part until the depot has it. @returns SHA-256 of the whole once it is complete */
  #send(bytes: Buffer, start: number, isLast: boolean): Promise<string | undefined> {
    const { signal } = this.#options;
    const { write } = this.#allocated;
    const end = start + bytes.length;
    let isFirst = true;
    return this.#retry.run(async () => {
      // Where an answer was lost, the depot may have more than it has said.
      const known = isFirst ? undefined : await stateOf(write, signal);
      isFirst = false;
      if (known?.complete) return known.sha256;
      const from = known?.offset ?? start;
      if (from < start || from > end) {
        throw new MillraceError('content-mismatch', `the depot has ${from} bytes of it`);
      }
      if (from === end && !isLast) return undefined;
      const content = { bytes: end - from, pieces: this.#pieces(bytes, start, from) };
      const onStored = () => this.#retry.onProgress();
      const state = await append(write, from, content, isLast, onStored, signal);
      this.#retry.onProgress();
      return state.sha256;
    });
  }

  async *#pieces(bytes: Buffer, start: number, from: number): AsyncGenerator<Buffer> {
    const { limit, signal, observe } = this.#options;
    for (let at = from - start; at < bytes.length; ) {
      const piece = bytes.subarray(at, at + PIECE_BYTES);
      await limit?.take(piece.length, signal);
      yield piece;
      at += piece.length;
      observe.sent(start + at);
    }
  }
}

/** Cuts a stream into parts of equal length; the last one may be shorter, and empty. */
export async function* cut(
  input: AsyncIterable<Uint8Array | string>,
  partBytes: number,
): AsyncGenerator<Part, void, undefined> {
  let part = Buffer.allocUnsafe(partBytes);
  let filled = 0;
  for await (const given of input) {
    const piece = typeof given === 'string' ? Buffer.from(given) : given;
    for (let at = 0; at < piece.length; ) {
      if (filled === partBytes) {
        yield { bytes: part, isLast: false };
        [part, filled] = [Buffer.allocUnsafe(partBytes), 0];
      }
      const taken = Math.min(piece.length - at, partBytes - filled);
      part.set(piece.subarray(at, at + taken), filled);
      [at, filled] = [at + taken, filled + taken];
    }
  }
  yield { bytes: part.subarray(0, filled), isLast: true };
}

/** Waits for a promise. @throws the signal's reason once it aborts */
function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
