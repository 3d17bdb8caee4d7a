/**
 * Places the extents of a file on depots while they are uploaded. Extents of a depot that refuses
 * them, or fails for good, go to depots that store the least and do not have them.
 */

import { rangeBytes } from '../base/byte-range.ts';
import type { PlannedExtent } from './spread.ts';

/** The upload of an extent to a depot. */
export interface Placed {
  readonly extent: PlannedExtent;
  /** Index of the depot. */
  readonly depot: number;
}

type State = 'waiting' | 'under way' | 'stored';

export class Placement {
  readonly #tasks = new Map<Placed, State>();
  readonly #lost = new Set<number>();
  readonly #depots: number;

  /** @param depots number of depots */
  constructor(plan: readonly PlannedExtent[], depots: number) {
    this.#depots = depots;
    for (const extent of plan) {
      for (const depot of extent.depots) this.#tasks.set({ extent, depot }, 'waiting');
    }
  }

  /** True once all extents are stored. */
  get isDone(): boolean {
    return [...this.#tasks.values()].every((state) => state === 'stored');
  }

  /** Uploads that are planned, under way or over, without those that depots have failed at. */
  get tasks(): readonly Placed[] {
    return [...this.#tasks.keys()];
  }

  /** Returns true if a depot has failed. */
  isLost(depot: number): boolean {
    return this.#lost.has(depot);
  }

  /** Begins the next upload to a depot; undefined: there is none now. */
  next(depot: number): Placed | undefined {
    for (const [task, state] of this.#tasks) {
      if (task.depot !== depot || state !== 'waiting') continue;
      this.#tasks.set(task, 'under way');
      return task;
    }
    return undefined;
  }

  onStored(task: Placed): void {
    this.#tasks.set(task, 'stored');
  }

  /**
   * Notes that a depot has failed. It keeps what it has stored.
   *
   * @returns false if an extent cannot be stored as many times as planned any more
   */
  onLost(depot: number): boolean {
    this.#lost.add(depot);
    for (const [task, state] of [...this.#tasks]) {
      if (task.depot !== depot || state === 'stored') continue;
      this.#tasks.delete(task);
      const other = this.#other(task);
      if (other === undefined) return false;
      this.#tasks.set({ extent: task.extent, depot: other }, 'waiting');
    }
    return true;
  }

  /** Chooses the depot with the fewest bytes, of those that do not have an extent. */
  #other({ extent }: Placed): number | undefined {
    const bytes = new Map<number, number>();
    for (let depot = 0; depot < this.#depots; depot++) {
      if (!this.#lost.has(depot)) bytes.set(depot, 0);
    }
    for (const task of this.#tasks.keys()) {
      const before = bytes.get(task.depot);
      if (before === undefined) continue;
      if (task.extent === extent) bytes.delete(task.depot);
      else bytes.set(task.depot, before + rangeBytes(task.extent));
    }
    let best: number | undefined;
    for (const [depot, its] of bytes) {
      if (best === undefined || its < (bytes.get(best) as number)) best = depot;
    }
    return best;
  }
}
