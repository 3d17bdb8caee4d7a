/**
 * Virtual time for modules that use promises: after each event everything that follows from it at
 * once is done before time advances. With one seed, every run has the same events.
 */

import { type Millis, type Random, seededRandom } from '@millrace/shared/base/clock';
import { VirtualClock } from '@millrace/shared/testing/virtual-clock';

/** Events between two turns of the process's own loop. */
const EVENTS_PER_TURN = 4096;

export class Simulation {
  readonly clock = new VirtualClock();
  readonly random: Random;
  /** Events so far. */
  events = 0;
  #quiet = false;

  constructor(seed: number) {
    this.random = seededRandom(seed);
  }

  get now(): Millis {
    return this.clock.now;
  }

  /** Called by an event that has settled no promise: then there is nothing to wait for after it. */
  quiet(): void {
    this.#quiet = true;
  }

  /** Lets time pass until `done`. Resolves with false if that is not so by `limit`. */
  async run(done: () => boolean, limit: Millis): Promise<boolean> {
    await settled();
    while (!done()) {
      this.#quiet = false;
      if (!this.clock.step(limit)) return false;
      this.events++;
      if (!this.#quiet) await settled();
      if (this.events % EVENTS_PER_TURN === 0) await turn();
    }
    return true;
  }
}

/**
 * Resolves when all promises that can be settled now have been, and their waiters have run: ticks
 * come after them, and cost a tenth of a turn of the loop.
 */
function settled(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}

/** Lets the process do work that only turns of its loop allow: free the remains of signals. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
