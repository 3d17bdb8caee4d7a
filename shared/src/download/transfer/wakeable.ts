/** Waiting that ends early when something has changed. */

export class Wakeable {
  readonly #waiting = new Set<AbortController>();

  /** Number of waiters. */
  get count(): number {
    return this.#waiting.size;
  }

  /** @param wait resolves by itself in time, and at once when its signal aborts */
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
    for (const woken of [...this.#waiting]) woken.abort();
  }
}
