/** Work that a node repeats until it ends. */

import type { Millis } from '@millrace/shared/base/clock';

export class Rounds {
  readonly #timers: NodeJS.Timeout[] = [];

  /** Has something done at intervals; that alone does not keep the process running. */
  every(intervalMs: Millis, act: () => void): void {
    this.#timers.push(setInterval(act, intervalMs).unref());
  }

  /** Has nothing done any more. */
  stop(): void {
    for (const timer of this.#timers.splice(0)) clearInterval(timer);
  }
}
