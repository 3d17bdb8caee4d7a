/** Repeats what fails for a time, until there has been no progress for long. */

import type { Millis } from '@millrace/shared/base/clock';
import { isPassing, MillraceError } from '@millrace/shared/base/errors';
import { sleep } from '@millrace/shared/node/sleep';

/** Pauses between attempts: the first, which each further one doubles, and the longest. */
const FIRST_PAUSE_MS: Millis = 500;
const MAX_PAUSE_MS: Millis = 15_000;

export interface RetryOptions {
  /** Time without progress after which the failure stands. */
  readonly retryMs: Millis;
  readonly signal: AbortSignal;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
  /** Called when an attempt has failed, and another one is made after a pause. */
  readonly onRetry: (error: MillraceError, pauseMs: Millis) => void;
}

export class Retry {
  readonly #options: RetryOptions;
  #progressAt: Millis;
  #progress = 0;

  constructor(options: RetryOptions) {
    this.#options = options;
    this.#progressAt = options.now();
  }

  /** Notes that the work has got on, so that failures are put up with for as long as at first. */
  onProgress(): void {
    this.#progressAt = this.#options.now();
    this.#progress++;
  }

  /** Acts until it succeeds. @throws the last failure; the signal's reason */
  async run<T>(act: () => Promise<T>): Promise<T> {
    const { now, retryMs, signal, onRetry } = this.#options;
    this.#progressAt = now();
    for (let pauseMs = FIRST_PAUSE_MS, progress = this.#progress; ; ) {
      try {
        return await act();
      } catch (thrown) {
        if (!(thrown instanceof MillraceError) || !mayRetry(thrown)) throw thrown;
        if (this.#progress > progress) pauseMs = FIRST_PAUSE_MS;
        progress = this.#progress;
        const waitMs = Math.max(pauseMs, thrown.retryAfterMs ?? 0);
        if (now() - this.#progressAt + waitMs > retryMs) throw thrown;
        onRetry(thrown, waitMs);
        await sleep(waitMs, signal);
        pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS);
      }
    }
  }
}

/** Returns true for failures that pass: of the network, of a busy depot, of a turn that was lost. */
export function mayRetry(error: MillraceError): boolean {
  return isPassing(error.row) || RETRIED.has(error.code);
}

const RETRIED: ReadonlySet<string> = new Set(['offset-mismatch', 'upload-too-slow']);
