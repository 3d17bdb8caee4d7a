/**
 * Single flight: concurrent callers of one key share one run of the work (groupcache's idea), here
 * with reference counts, because callers can leave. The first one leaving does not fail the
 * others; the last one leaving cancels the work.
 */

interface Flight<T> {
  readonly result: Promise<T>;
  readonly controller: AbortController;
  callers: number;
  settled: boolean;
}

export class SingleFlight<K, T> {
  readonly #flights = new Map<K, Flight<T>>();

  /** Number of keys being worked on. */
  get size(): number {
    return this.#flights.size;
  }

  /** Returns true while work for `key` is under way. */
  has(key: K): boolean {
    return this.#flights.has(key);
  }

  /**
   * Runs `work` for `key`, or joins the run under way.
   *
   * @param signal the caller's own; when it aborts, this caller gets its reason and leaves
   * @param work gets a signal that aborts when every caller has left
   * @returns the work's result and whether this caller joined a run begun by another
   */
  run(
    key: K,
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
  ): { joined: boolean; result: Promise<T> } {
    const existing = this.#flights.get(key);
    if (existing !== undefined) return { joined: true, result: this.#join(key, existing, signal) };

    const controller = new AbortController();
    const flight: Flight<T> = {
      controller,
      callers: 0,
      settled: false,
      result: Promise.resolve()
        .then(() => work(controller.signal))
        .finally(() => {
          flight.settled = true;
          this.#forget(key, flight);
        }),
    };
    // If every caller has left by the time the work fails, nothing else handles its rejection.
    flight.result.catch(() => {});
    this.#flights.set(key, flight);
    return { joined: false, result: this.#join(key, flight, signal) };
  }

  async #join(key: K, flight: Flight<T>, signal: AbortSignal): Promise<T> {
    flight.callers++;
    let onAbort = () => {};
    const left = new Promise<never>((_, reject) => {
      onAbort = () => reject(signal.reason);
      if (signal.aborted) onAbort();
      else signal.addEventListener('abort', onAbort, { once: true });
    });
    try {
      return await Promise.race([flight.result, left]);
    } finally {
      signal.removeEventListener('abort', onAbort);
      flight.callers--;
      if (flight.callers === 0 && !flight.settled) {
        // A later caller must start a new run, not join the cancelled one.
        this.#forget(key, flight);
        flight.controller.abort(signal.reason);
      }
    }
  }

  #forget(key: K, flight: Flight<T>): void {
    if (this.#flights.get(key) === flight) this.#flights.delete(key);
  }
}
