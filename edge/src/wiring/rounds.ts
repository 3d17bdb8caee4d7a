/** Work that a node repeats until it ends. */

import type { Millis } from '@millrace/shared/base/clock';

export class Rounds {
  readonly #timers: NodeJS.Timeout[] = [];

  /** Repeats an action at intervals; that alone does not keep the process running. */
  every(intervalMs: Millis, act: () => void): void {
    this.#timers.push(setInterval(act, intervalMs).unref());
  }

  /** Ends all repetitions. */
  stop(): void {
    for (const timer of this.#timers.splice(0)) clearInterval(timer);
  }
}
