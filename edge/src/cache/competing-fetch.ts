/**
 * One fetch of a chunk with up to two requests that compete: when the first is late another is
 * sent beside it, the first complete answer wins and the loser is cancelled (LOGIN; NSDI 3.3).
 */

import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError, type MillraceError } from '@millrace/shared/base/errors';
import { MAX_BACKOFFS } from '@millrace/shared/cdn/retry-timer';
import { isTransient } from '@millrace/shared/cdn/transfer';
import type { ChunkBuffer } from './chunk-memory.ts';

/** Told how a request gets on. */
export interface AttemptObserver {
  /** It has gone out; until now it was waiting for a connection. */
  onSent(): void;
  /** Some bytes have come in. */
  onBytes(): void;
}

/** Sends one request. The result belongs to the caller. */
export type StartAttempt = (
  attempt: number,
  signal: AbortSignal,
  observer: AttemptObserver,
) => Promise<ChunkBuffer>;

const MAX_COMPETING = 2;

export class CompetingFetch {
  readonly #start: StartAttempt;
  readonly #lateAfterMs: () => Millis;
  readonly #now: () => Millis;
  readonly #running = new Map<number, AbortController>();
  #begun = 0;
  /** When the latest request went out; undefined while it waits for a connection. */
  #lastSentAt: Millis | undefined;
  #progressAt: Millis | undefined;
  #settled = false;
  #resolve: (buffer: ChunkBuffer) => void = () => {};
  #reject: (error: unknown) => void = () => {};

  /**
   * @param lateAfterMs how long a request may take before another is justified
   * @param now monotonic milliseconds
   */
  constructor(start: StartAttempt, lateAfterMs: () => Millis, now: () => Millis) {
    this.#start = start;
    this.#lateAfterMs = lateAfterMs;
    this.#now = now;
  }

  /** When bytes last came in, if any have. */
  get progressAt(): Millis | undefined {
    return this.#progressAt;
  }

  /** Requests sent so far. */
  get begun(): number {
    return this.#begun;
  }

  /**
   * Sends the first request and waits for an answer.
   *
   * @param signal aborts everything
   * @throws MillraceError of the last request to fail, or of the first that fails for good
   */
  async run(signal: AbortSignal): Promise<ChunkBuffer> {
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      signal.addEventListener('abort', () => this.#settle(() => reject(signal.reason)), {
        once: true,
      });
      this.#begin();
    });
  }

  /**
   * A client finds the chunk late. Another request is sent if the running ones are late by this
   * fetch's own measure too: many clients share it, and each has a timer of its own.
   */
  hedge(): void {
    const now = this.#now();
    // One that has not even gone out is not late: another would only make the queue longer.
    const late = this.#lastSentAt !== undefined && now - this.#lastSentAt >= this.#lateAfterMs();
    if (this.#settled || !late || this.#begun > MAX_BACKOFFS) return;
    if (this.#running.size >= MAX_COMPETING) {
      const alive = this.#progressAt !== undefined && now - this.#progressAt < this.#lateAfterMs();
      if (alive) return;
      const [oldest, controller] = this.#running.entries().next().value as [
        number,
        AbortController,
      ];
      this.#running.delete(oldest);
      controller.abort(new Error('replaced by a later request'));
    }
    this.#begin();
  }

  #begin(): void {
    const attempt = this.#begun++;
    const controller = new AbortController();
    this.#running.set(attempt, controller);
    this.#lastSentAt = undefined;
    const observer: AttemptObserver = {
      onSent: () => {
        if (attempt === this.#begun - 1) this.#lastSentAt = this.#now();
      },
      onBytes: () => {
        this.#progressAt = this.#now();
      },
    };
    this.#start(attempt, controller.signal, observer).then(
      (buffer) => {
        this.#running.delete(attempt);
        if (this.#settled) buffer.release();
        else this.#settle(() => this.#resolve(buffer));
      },
      (error: unknown) => this.#failed(attempt, asMillraceError(error)),
    );
  }

  #failed(attempt: number, error: MillraceError): void {
    if (!this.#running.delete(attempt)) return; // it was replaced: its end means nothing
    if (this.#running.size > 0 && isTransient(error.code)) return;
    this.#settle(() => this.#reject(error));
  }

  #settle(how: () => void): void {
    if (this.#settled) return;
    this.#settled = true;
    for (const controller of this.#running.values()) {
      controller.abort(new Error('another request was faster'));
    }
    this.#running.clear();
    how();
  }
}
