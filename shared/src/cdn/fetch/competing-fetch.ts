/**
 * One fetch of a chunk with up to two requests that compete: when the first is late, another is
 * sent beside it, the first complete answer wins and the loser is cancelled (LOGIN; NSDI 3.3).
 */

import type { Millis } from '../../base/clock.ts';
import { asMillraceError, isPassing, type MillraceError } from '../../base/errors.ts';
import { MAX_BACKOFFS } from '../delivery/retry-timer.ts';
import { isHedgeJustified } from './hedge.ts';

/** Receives the progress of a request. */
export interface AttemptObserver {
  /** The request has gone out; until now it was waiting for a connection. */
  onSent(): void;
  /** `count` bytes have come in. */
  onBytes(count: number): void;
}

/** Result of a request; it belongs to the caller that gets it. */
export interface Loan {
  release(): void;
}

/** Sends one request. */
export type StartAttempt<T extends Loan> = (
  attempt: number,
  signal: AbortSignal,
  observer: AttemptObserver,
) => Promise<T>;

/** A request under way. */
interface Running {
  readonly controller: AbortController;
  /** When it went out; undefined while it waits for a connection. */
  sentAt: Millis | undefined;
  progressAt: Millis | undefined;
  receivedBytes: number;
}

export interface CompetingFetchOptions<T extends Loan> {
  readonly start: StartAttempt<T>;
  /** Bytes that a request brings. */
  readonly bytes: number;
  /**
   * Longest time for the rest of a request that has brought `receivedBytes`, in multiples of the
   * usual time (`RequestProgress.patience`); 1 unless given.
   */
  readonly patience?: (receivedBytes: number) => number;
  /** How long a request may take before another is justified. */
  readonly lateAfterMs: (attempt: number) => Millis;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
  /** When the other side of a request last gave any sign of life. */
  readonly heardAt?: (attempt: number) => Millis | undefined;
  /** Called when a late request has not given one sign of life. */
  readonly onSilent?: (attempt: number) => void;
  /** Called with the first of several requests to bring an answer. */
  readonly onRaced?: (winner: number) => void;
}

const MAX_COMPETING = 2;

export class CompetingFetch<T extends Loan> {
  readonly #options: CompetingFetchOptions<T>;
  readonly #running = new Map<number, Running>();
  #begun = 0;
  #progressAt: Millis | undefined;
  #settled = false;
  #overtaken = false;
  #resolve: (result: T) => void = () => {};
  #reject: (error: unknown) => void = () => {};

  constructor(options: CompetingFetchOptions<T>) {
    this.#options = options;
  }

  /** When bytes last came in, if any have. */
  get progressAt(): Millis | undefined {
    return this.#progressAt;
  }

  /** Share of the wanted bytes that has come, 0 to 1, by the request that has most. */
  get share(): number {
    let most = 0;
    for (const { receivedBytes } of this.#running.values()) most = Math.max(most, receivedBytes);
    return Math.min(1, most / this.#options.bytes);
  }

  /** True once a later request has brought the answer: the first one was too late (NSDI 5.5). */
  get overtaken(): boolean {
    return this.#overtaken;
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
  async run(signal: AbortSignal): Promise<T> {
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
   * A client finds the chunk late. Sends another request if the latest one is late by this fetch's
   * own measure too: many clients share the fetch, and each has a timer of its own.
   */
  hedge(): void {
    const now = this.#options.now();
    const latest = [...this.#running.values()].at(-1);
    if (this.#settled || latest === undefined || this.#begun > MAX_BACKOFFS) return;
    // A request that has not been sent is not late: another would only lengthen the queue.
    if (latest.sentAt === undefined) return;
    const lateAfterMs = this.#options.lateAfterMs(this.#begun - 1);
    const heardAt = this.#options.heardAt?.(this.#begun - 1) ?? 0;
    const aliveAt = Math.max(latest.sentAt, latest.progressAt ?? 0, heardAt);
    const progress = {
      elapsedMs: now - latest.sentAt,
      idleMs: now - aliveAt,
      receivedBytes: latest.receivedBytes,
      totalBytes: this.#options.bytes,
      patience: this.#options.patience?.(latest.receivedBytes) ?? 1,
    };
    if (!isHedgeJustified(progress, lateAfterMs)) return;
    if (aliveAt === latest.sentAt) this.#options.onSilent?.(this.#begun - 1);
    if (this.#running.size >= MAX_COMPETING) {
      const alive = this.#progressAt !== undefined && now - this.#progressAt < lateAfterMs;
      if (alive) return;
      const [oldest, { controller }] = this.#running.entries().next().value as [number, Running];
      this.#running.delete(oldest);
      controller.abort(new Error('replaced by a later request'));
    }
    this.#begin();
  }

  #begin(): void {
    const attempt = this.#begun++;
    const controller = new AbortController();
    const running: Running = {
      controller,
      sentAt: undefined,
      progressAt: undefined,
      receivedBytes: 0,
    };
    this.#running.set(attempt, running);
    const observer: AttemptObserver = {
      onSent: () => {
        running.sentAt ??= this.#options.now();
      },
      onBytes: (count) => {
        running.receivedBytes += count;
        running.progressAt = this.#options.now();
        this.#progressAt = running.progressAt;
      },
    };
    this.#options.start(attempt, controller.signal, observer).then(
      (result) => {
        this.#running.delete(attempt);
        if (this.#settled) result.release();
        else {
          this.#overtaken = attempt > 0;
          if (this.#begun > 1) this.#options.onRaced?.(attempt);
          this.#settle(() => this.#resolve(result));
        }
      },
      (error: unknown) => this.#failed(attempt, asMillraceError(error)),
    );
  }

  #failed(attempt: number, error: MillraceError): void {
    if (!this.#running.delete(attempt)) return; // it was replaced: its end means nothing
    if (this.#running.size > 0 && isPassing(error.row)) return;
    this.#settle(() => this.#reject(error));
  }

  #settle(how: () => void): void {
    if (this.#settled) return;
    this.#settled = true;
    for (const { controller } of this.#running.values()) {
      controller.abort(new Error('another request was faster'));
    }
    this.#running.clear();
    how();
  }
}
