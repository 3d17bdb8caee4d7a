/** Timers of a world whose time is simulated. */

import type { Millis } from '../src/base/clock.ts';

interface Timer {
  readonly at: Millis;
  readonly fire: () => void;
}

export class Timers {
  readonly #now: () => Millis;
  readonly #timers = new Set<Timer>();

  constructor(now: () => Millis) {
    this.#now = now;
  }

  /** Time of the next timer; undefined: there is none. */
  get nextAt(): Millis | undefined {
    return this.#next?.at;
  }

  get #next(): Timer | undefined {
    return [...this.#timers].sort((a, b) => a.at - b.at)[0];
  }

  /** Calls `fire` after `ms`. */
  after(ms: Millis, fire: () => void): void {
    this.#timers.add({ at: this.#now() + ms, fire });
  }

  /** Resolves after `ms`, or when the signal is aborted. */
  wait(ms: Millis, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const timer = { at: this.#now() + Math.max(0, ms), fire: resolve };
      this.#timers.add(timer);
      const onAbort = () => {
        this.#timers.delete(timer);
        resolve();
      };
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  /** Fires the next timer. */
  fireNext(): void {
    const next = this.#next;
    if (next === undefined) return;
    this.#timers.delete(next);
    next.fire();
  }
}
