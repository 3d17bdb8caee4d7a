/**
 * Ends the waiting for origins that are silent about files of which a stale version may be used. Such
 * an origin is asked on, for later clients.
 */

import type { Millis } from '@millrace/shared/base/clock';

/** Files at a time about which origins are asked on. */
const MAX_LATE = 64;

export class SilentOrigins {
  readonly #late = new Set<string>();

  /** Returns true while an origin is asked on about a file: no other client needs to wait for it. */
  isLate(name: string): boolean {
    return this.#late.has(name);
  }

  /**
   * Waits for an answer. A client that leaves before patience is over ends the question for itself;
   * after that the question goes on without it.
   *
   * @param name of the file
   * @param patience milliseconds
   * @param ask asks, until the signal aborts
   * @returns undefined once patience is over
   * @throws the error of the question; the signal's reason
   */
  async wait<T extends object>(
    name: string,
    patience: Millis,
    ask: (signal: AbortSignal) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T | undefined> {
    const question = new AbortController();
    const leave = () => question.abort(signal.reason);
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { once: true });
    const answer = ask(question.signal);
    let timer: NodeJS.Timeout | undefined;
    const over = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => {
        // Without a place among these, this client waits for the origin.
        if (!this.#late.has(name) && this.#late.size === MAX_LATE) return;
        signal.removeEventListener('abort', leave);
        this.#late.add(name);
        answer.catch(() => {}).finally(() => this.#late.delete(name));
        resolve(undefined);
      }, patience).unref();
    });
    try {
      return await Promise.race([answer, over]);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', leave);
    }
  }
}
