/** How fast depots have given blocks of parity, and how many each of them is asked for now. */

import type { Millis } from '../../base/clock.ts';
import { Estimate } from '../../base/estimate.ts';

interface Pace {
  /** Milliseconds per byte of all that it is asked for at a time. */
  readonly cost: Estimate;
  asked: number;
}

export class DepotPaces {
  readonly #paces = new Map<string, Pace>();

  /** Notes that a depot is asked for a block. @returns what to call at the end, with the time taken */
  ask(depot: string): (bytes: number, ms: Millis) => void {
    const pace = this.#pace(depot);
    pace.asked++;
    const { asked } = pace;
    return (bytes, ms) => {
      pace.asked--;
      if (bytes > 0) pace.cost.add(Math.max(ms, 1) / bytes / asked);
    };
  }

  /** Forecasts the bytes per second that a depot brings; undefined: it has not brought any. */
  rateOf(depot: string): number | undefined {
    const { cost } = this.#pace(depot);
    return cost.samples === 0 ? undefined : 1000 / cost.mean;
  }

  /**
   * Forecasts the cost of one more block, in units that only compare depots. One that has not been
   * asked counts as fast as the fastest.
   */
  costOf(depot: string): number {
    const { cost, asked } = this.#pace(depot);
    const known = [...this.#paces.values()].flatMap((one) =>
      one.cost.samples > 0 ? one.cost.mean : [],
    );
    return (asked + 1) * (cost.samples > 0 ? cost.mean : Math.min(1, ...known));
  }

  #pace(depot: string): Pace {
    const pace = this.#paces.get(depot) ?? { cost: new Estimate(), asked: 0 };
    this.#paces.set(depot, pace);
    return pace;
  }
}
