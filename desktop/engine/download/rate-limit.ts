/**
 * Rate limits on top of the token bucket: bytes are paid for after they have arrived, and waiting
 * readers are served in turn, so that connections and downloads get equal shares.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { TokenBucket } from '@millrace/shared/base/token-bucket';
import { WaitingLine } from '@millrace/shared/base/waiting-line';

/** A limit that several connections or downloads share. */
export interface RateLimit {
  /**
   * Pays for received bytes.
   *
   * @returns undefined to continue, otherwise a promise that resolves when the bytes are paid for,
   *   or when the signal aborts
   */
  take(bytes: number, signal: AbortSignal): Promise<void> | undefined;
}

/** Size of the bucket, in seconds at the limited rate: shorter bursts than a person notices. */
const BURST_SECONDS = 0.25;

/** Takes the same bytes from several limits. @returns as `RateLimit.take`, for all of them */
export function takeFromAll(
  limits: readonly RateLimit[],
  bytes: number,
  signal: AbortSignal,
): Promise<void> | undefined {
  let all: Promise<void> | undefined;
  for (const limit of limits) {
    const wait = limit.take(bytes, signal);
    if (wait !== undefined) all = all === undefined ? wait : Promise.all([all, wait]).then();
  }
  return all;
}

/** A limit that can be changed while it is in use. */
export class AdjustableLimit implements RateLimit {
  readonly #now: () => Millis;
  #bucket: TokenBucket | undefined;
  /** All waiting readers, in the order of their turns. */
  readonly #waiting = new WaitingLine<{ readonly bytes: number; go(): void }>();
  #timer: NodeJS.Timeout | undefined;

  /** @param bytesPerSecond undefined: no limit */
  constructor(bytesPerSecond: number | undefined, now: () => Millis) {
    this.#now = now;
    this.set(bytesPerSecond);
  }

  /** Changes the limit from now on. @param bytesPerSecond undefined: no limit */
  set(bytesPerSecond: number | undefined): void {
    this.#bucket =
      bytesPerSecond === undefined
        ? undefined
        : new TokenBucket(bytesPerSecond, bytesPerSecond * BURST_SECONDS, this.#now());
    this.#stopTimer();
    this.#serve();
  }

  take(bytes: number, signal: AbortSignal): Promise<void> | undefined {
    const bucket = this.#bucket;
    if (bucket === undefined || signal.aborted) return undefined;
    if (this.#waiting.size === 0) {
      bucket.take(bytes, this.#now());
      if (bucket.waitMs(this.#now()) <= 0) return undefined;
      return this.#wait(0, signal);
    }
    return this.#wait(bytes, signal);
  }

  #wait(bytes: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const turn = {
        bytes,
        go() {
          signal.removeEventListener('abort', onAbort);
          resolve();
        },
      };
      const onAbort = () => {
        // The bytes have arrived in any case: the remaining readers pay for them.
        if (this.#waiting.delete(turn)) this.#bucket?.take(turn.bytes, this.#now());
        // A timer without a waiter would keep the process from ending.
        if (this.#waiting.size === 0) this.#stopTimer();
        resolve();
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiting.add(turn);
      this.#serve();
    });
  }

  #stopTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Releases the readers whose turn has come, and runs again at the turn of the next one. */
  #serve(): void {
    while (this.#waiting.size > 0) {
      const wait = this.#bucket?.waitMs(this.#now()) ?? 0;
      if (wait > 0) {
        this.#timer ??= setTimeout(() => {
          this.#timer = undefined;
          this.#serve();
        }, wait);
        return;
      }
      const turn = this.#waiting.take();
      if (turn === undefined) return;
      this.#bucket?.take(turn.bytes, this.#now());
      turn.go();
    }
  }
}
