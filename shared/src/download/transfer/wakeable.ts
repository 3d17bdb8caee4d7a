/** Lets waits end early when something has changed. */

/** Reason of waits that end early. Without one, each abort makes an exception with a stack. */
const WOKEN = new Error('woken');

export class Wakeable {
  readonly #waiting = new Set<AbortController>();

  /** Number of waiters. */
  get count(): number {
    return this.#waiting.size;
  }

  /** Runs `wait`, which resolves in time, or at once when its signal aborts through `wakeAll`. */
  async during<T>(wait: (woken: AbortSignal) => Promise<T>): Promise<T> {
    const woken = new AbortController();
    this.#waiting.add(woken);
    try {
      return await wait(woken.signal);
    } finally {
      this.#waiting.delete(woken);
    }
  }

  wakeAll(): void {
    for (const woken of [...this.#waiting]) woken.abort(WOKEN);
  }
}
