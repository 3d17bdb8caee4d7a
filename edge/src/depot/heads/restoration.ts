/** Reading what former runs have left while the node serves already, and waiting for that. */

import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { sleep } from '@millrace/shared/node/sleep';

/** Longest wait of a request; and time after which a refused client is to ask again. */
const MAX_WAIT_MS: Millis = 10_000;
const RETRY_MS: Millis = 5000;

export class Restoration {
  /** Resolves when all is there, or the reading was ended. */
  readonly done: Promise<void>;
  readonly #ending = new AbortController();
  readonly #maxWaitMs: Millis;
  #isDone = false;

  /**
   * Begins.
   *
   * @param read reads all, until its signal aborts
   * @param maxWaitMs longest wait of a request; for tests
   */
  constructor(read: (signal: AbortSignal) => Promise<void>, maxWaitMs = MAX_WAIT_MS) {
    this.#maxWaitMs = maxWaitMs;
    const { signal } = this.#ending;
    this.done = read(signal).then(() => {
      this.#isDone = !signal.aborted;
    });
    // A failure is told to those who wait.
    this.done.catch(() => {});
  }

  /** True once all is there. */
  get isDone(): boolean {
    return this.#isDone;
  }

  /**
   * Waits until all is there.
   *
   * @throws MillraceError `depot-unreachable` if that takes long, or is ended; the signal's reason
   */
  async wait(signal: AbortSignal): Promise<void> {
    if (this.#isDone) return;
    const waiting = new AbortController();
    try {
      await Promise.race([
        this.done,
        sleep(this.#maxWaitMs, AbortSignal.any([signal, waiting.signal])),
      ]);
    } finally {
      waiting.abort();
    }
    if (this.#isDone) return;
    throw new MillraceError('depot-unreachable', 'this edge has just started', {
      retryAfterMs: RETRY_MS,
    });
  }

  /** Ends the reading. Resolves when it has ended; never rejects. */
  async end(): Promise<void> {
    this.#ending.abort();
    await this.done.catch(() => {});
  }
}
