/**
 * Remembers which depots may pull from which others. A depot may until it is known that it cannot, and is
 * asked once about each other one.
 */

export class PullPermits {
  /** Depots that cannot pull from any other. */
  readonly #unable = new Set<number>();
  /** Depots that each depot has been asked about, and those that it cannot pull from. */
  readonly #asked = new Map<number, Set<number>>();
  readonly #refused = new Map<number, Set<number>>();

  /** Returns false if a depot cannot pull from another one; without that, from any. */
  mayPull(depot: number, from?: number): boolean {
    if (this.#unable.has(depot)) return false;
    return from === undefined || this.#refused.get(depot)?.has(from) !== true;
  }

  /** Notes that a depot cannot pull from another one; without that, from any. */
  refuse(depot: number, from?: number): void {
    if (from === undefined) this.#unable.add(depot);
    else add(this.#refused, depot, from);
  }

  /** Returns true once for each pair of which it is not known whether the depot can pull at all. */
  mustAsk(depot: number, from: number): boolean {
    return !this.#unable.has(depot) && add(this.#asked, depot, from);
  }
}

/** Adds to the set of a depot. @returns false if it was there */
function add(sets: Map<number, Set<number>>, depot: number, one: number): boolean {
  const set = sets.get(depot) ?? new Set();
  sets.set(depot, set);
  const before = set.size;
  return set.add(one).size > before;
}
