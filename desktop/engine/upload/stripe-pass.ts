/**
 * One pass over a file for a striped upload: sends to all depots what they lack. A depot that fails,
 * or takes no bytes for a time, is left, and keeps the others waiting no longer.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { endsDownload, isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import type { Stripe } from '@millrace/shared/exnode/stripe';
import type { FileState } from '../archive/upload-source.ts';
import type { RateLimit } from '../download/rate-limit.ts';
import { appendRest } from './depot-client.ts';
import { type GivenData, StripeReader } from './stripe-reader.ts';
import type { StripeSpace } from './stripe-space.ts';
import type { StripeDigests } from './stripe-worker.ts';

/** Bytes that are sent at a time. */
const PIECE_BYTES = 256 * 1024;
/** Time for which a depot may take no bytes, although it is sent some. */
const STALL_MS: Millis = 15_000;
/** Time within which a depot says how much it has. */
const LOOK_MS: Millis = 30_000;
/** Interval at which depots are looked after. */
const WATCH_MS: Millis = 500;

export interface PassOptions {
  /** The file, an absolute path, unless something else is read; and its state. */
  readonly path: string | undefined;
  readonly fileState: FileState;
  readonly stripe: Stripe;
  /** Reads what is stored in place of a file: ciphertext, or the tar of a folder. */
  readonly given: GivenData | undefined;
  /** Depots that lack bytes, by their places in the stripe. */
  readonly spaces: ReadonlyMap<number, StripeSpace>;
  /** True if the digests of the file are not known: all of it is read. */
  readonly digests: boolean;
  /** Longest time for which a depot may be silent, if that is shorter than usual. */
  readonly patienceMs: Millis;
  /** Limit of the bytes that are sent. */
  readonly limit: RateLimit | undefined;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
  readonly signal: AbortSignal;
  readonly observe: PassObserver;
}

interface PassObserver {
  /** Called once it is known how much the depots have. */
  looked(): void;
  /** Called with the end of the bytes of a depot's stream that have been handed to its connection. */
  sent(space: StripeSpace, end: number): void;
  /** Called when a depot has stored bytes. */
  progress(): void;
  /** Called when a depot has failed. @returns true if the upload is hopeless without it */
  failed(depot: number, error: MillraceError): boolean;
}

/** State of what is sent to a depot. */
interface Sending {
  readonly stop: AbortController;
  /** True while a piece waits for the connection, and since when. */
  isHanded: boolean;
  at: Millis;
}

/**
 * Makes a pass.
 *
 * @returns the digests, if they were asked for
 * @throws MillraceError `file-has-changed`; those of our disk; a depot's if the upload is hopeless
 *   without it; the signal's reason
 */
export async function stripePass(options: PassOptions): Promise<StripeDigests | undefined> {
  return new StripePass(options).run();
}

class StripePass {
  readonly #options: PassOptions;
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;

  constructor(options: PassOptions) {
    this.#options = options;
    this.#signal = AbortSignal.any([options.signal, this.#stop.signal]);
  }

  async run(): Promise<StripeDigests | undefined> {
    const { spaces, stripe, path, fileState, digests, signal, observe } = this.#options;
    const active = new Map<number, StripeSpace>();
    await Promise.all(
      [...spaces].map(async ([depot, space]) => {
        try {
          await this.#look(space);
          observe.sent(space, space.stored);
          if (space.sha256 === undefined) active.set(depot, space);
        } catch (error) {
          await this.#judge(depot, space, error);
        }
      }),
    );
    this.#throwIfStopped();
    observe.looked();
    if (active.size === 0 && !digests) return undefined;
    const stored = [...active.values()].map((space) => space.stored);
    const from = digests ? 0 : Math.floor(Math.min(...stored) / stripe.unit);
    const { data, parity } = stripe;
    const task = { path, state: fileState, data, parity, from, digests };
    const reader = new StripeReader(task, [...active.keys()], this.#options.given);
    try {
      const sending = [...active].map(async ([depot, space]) => {
        try {
          await this.#send(depot, space, reader, from * stripe.unit);
        } catch (error) {
          reader.leave(depot);
          await this.#judge(depot, space, error);
        }
      });
      const stopped = new Promise<void>((resolve) => {
        this.#signal.addEventListener('abort', () => resolve(), { once: true });
      });
      const read = await Promise.race([reader.ended, stopped]);
      await Promise.all(sending);
      signal.throwIfAborted();
      this.#throwIfStopped();
      return read ?? undefined;
    } finally {
      this.#stop.abort(new MillraceError('interrupted'));
      await reader.close();
    }
  }

  #throwIfStopped(): void {
    if (this.#stop.signal.aborted) throw this.#stop.signal.reason;
  }

  /** Asks a depot how much it has. @throws as `stateOf`; `origin-timeout` */
  async #look(space: StripeSpace): Promise<void> {
    const late = AbortSignal.timeout(Math.min(LOOK_MS, this.#options.patienceMs));
    try {
      await space.look(AbortSignal.any([this.#signal, late]));
    } catch (error) {
      if (this.#signal.aborted || !late.aborted) throw error;
      throw new MillraceError('origin-timeout', 'the depot does not answer');
    }
  }

  async #send(
    depot: number,
    space: StripeSpace,
    reader: StripeReader,
    start: number,
  ): Promise<void> {
    const { stripe, now, observe } = this.#options;
    const offset = space.stored;
    const sending: Sending = { stop: new AbortController(), isHanded: false, at: now() };
    const pieces = this.#pieces(reader.stream(depot), space, start, offset, sending);
    const content = { bytes: stripe.streamBytes(depot) - offset, pieces };
    const onStored = (stored: number) => {
      if (stored <= space.stored) return;
      space.stored = stored;
      observe.progress();
    };
    const signal = AbortSignal.any([this.#signal, sending.stop.signal]);
    const timer = setInterval(() => this.#watch(sending), WATCH_MS);
    try {
      space.note(await appendRest(space.allocated.write, offset, content, onStored, signal));
    } finally {
      clearInterval(timer);
    }
    if (space.sha256 === undefined) {
      throw new MillraceError('malformed-response', 'the depot has not stored all');
    }
    observe.progress();
  }

  /** Gives up a connection that takes no bytes. */
  #watch({ isHanded, at, stop }: Sending): void {
    const { now, patienceMs } = this.#options;
    const stallMs = Math.min(STALL_MS, patienceMs);
    if (!isHanded || now() - at <= stallMs) return;
    stop.abort(new MillraceError('origin-timeout', 'the depot takes no bytes'));
  }

  /** Cuts a stream into pieces, without the bytes before an offset. */
  async *#pieces(
    stream: AsyncIterable<Uint8Array>,
    space: StripeSpace,
    start: number,
    offset: number,
    sending: Sending,
  ): AsyncGenerator<Buffer, void, undefined> {
    const { limit, now, observe } = this.#options;
    let at = start;
    for await (const { buffer, length } of stream) {
      const end = at + length;
      for (let from = Math.max(at, offset); from < end; from += PIECE_BYTES) {
        const bytes = Math.min(PIECE_BYTES, end - from);
        await limit?.take(bytes, this.#signal);
        [sending.isHanded, sending.at] = [true, now()];
        yield Buffer.from(buffer as ArrayBuffer, from - at, bytes);
        sending.isHanded = false;
        observe.sent(space, from + bytes);
      }
      at = end;
    }
  }

  /**
   * Reports the failure of a depot. What is no depot's fault ends the pass.
   *
   * @throws what is no error of ours
   */
  async #judge(depot: number, space: StripeSpace, thrown: unknown): Promise<void> {
    if (this.#signal.aborted) return;
    if (!isMillraceError(thrown)) throw thrown;
    if (thrown.code === 'file-has-changed' || endsDownload(thrown.row)) {
      this.#stop.abort(thrown);
      return;
    }
    if (thrown.code === 'no-such-allocation') await space.forget();
    const { edge } = space.access;
    const { code, detail, retryAfterMs } = thrown;
    const why = detail === '' ? edge : `${edge}: ${detail}`;
    const error = new MillraceError(code, why, { cause: thrown, retryAfterMs });
    if (this.#options.observe.failed(depot, error)) this.#stop.abort(error);
  }
}
