/**
 * The time for which this process is awake. A computer that sleeps, or a process that was stopped
 * or swapped out, reads nothing: time that passes meanwhile says nothing about sources, and is no
 * time that a download has waited for them.
 */

import { AwakeClock } from '@millrace/shared/base/awake-clock';
import type { Millis } from '@millrace/shared/base/clock';

const TICK_MS = 100;
/** Less than the silence after which a source is doubted. */
const MAX_STEP_MS = 2 * TICK_MS;

export class AwakeTime {
  readonly #clock = new AwakeClock(performance.now(), MAX_STEP_MS);
  #ticking: NodeJS.Timeout | undefined;

  /** Returns monotonic milliseconds, which stand still while this clock is stopped. */
  readonly now = (): Millis => this.#clock.read(performance.now());

  start(): void {
    this.#ticking ??= setInterval(() => this.#clock.tick(performance.now()), TICK_MS).unref();
  }

  stop(): void {
    clearInterval(this.#ticking);
    this.#ticking = undefined;
  }
}
