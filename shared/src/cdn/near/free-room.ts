/** How much more an edge can take. */

/** One thing that an edge can run out of. */
export interface Supply {
  readonly used: number;
  /** Most of it that may be used; 0: there is no limit. */
  readonly limit: number;
}

/** Returns the free part of the supply that is closest to its end, 0 to 1. */
export function freeRoom(supplies: readonly Supply[]): number {
  const limited = supplies.filter(({ limit }) => limit > 0);
  const free = limited.map(({ used, limit }) => 1 - used / limit);
  return Math.max(0, Math.min(1, ...free));
}
