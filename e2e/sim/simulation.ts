/**
 * Virtual time for modules that use promises. After each event, everything that follows from it at
 * once is done before time advances. With one seed, every run has the same events.
 */

import { type Millis, type Random, seededRandom } from '@millrace/shared/base/clock';
import { VirtualClock } from '@millrace/shared/testing/virtual-clock';

/** Number of events between two turns of the process's own event loop. */
const EVENTS_PER_TURN = 4096;

export class Simulation {
  readonly clock = new VirtualClock();
  readonly random: Random;
  /** Number of events so far. */
  events = 0;
  #quiet = false;

  constructor(seed: number) {
    this.random = seededRandom(seed);
  }

  get now(): Millis {
    return this.clock.now;
  }

  /** Called by an event that settles no promise: then there is nothing to wait for after it. */
  quiet(): void {
    this.#quiet = true;
  }

  /** Lets time pass until `done` returns true. Resolves with false if it does not by `limit`. */
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
 * Resolves when all promises that can be settled now are settled, and their waiters have run. Ticks
 * come after the waiters, and cost a tenth of a turn of the loop.
 */
function settled(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}

/** Lets the process do work that needs a turn of its loop: freeing the remains of signals. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
