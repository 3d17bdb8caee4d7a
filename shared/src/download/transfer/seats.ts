/**
 * Chooses the source that gets the next free connection (LOCI 3.2.1: a number of threads per
 * server; NSDI: edges stand between clients and origin). Every source gets as many of a download's
 * connections as it accepts, and sources of the same tier share them evenly.
 */

/** The facts about a source that decide its place in the order. */
export interface Seat {
  /** 0: sources that share the work; 1: the origin behind edges, asked only when they fail. */
  readonly tier: 0 | 1;
  /** True if the source may be asked now. */
  readonly usable: boolean;
  /** Requests under way. */
  readonly active: number;
  /** Most requests at a time that the source accepts. */
  readonly limit: number;
}

/**
 * Returns the sources that the next connection may go to, best first.
 *
 * @param lifeless true if no byte has come for so long that tier 1 should help
 */
export function seatOrder<S extends Seat>(sources: readonly S[], lifeless: boolean): S[] {
  const free = sources.filter((s) => s.usable && s.active < s.limit);
  const upper = free.filter((s) => s.tier === 0);
  const upperWorks = sources.some((s) => s.tier === 0 && (s.active > 0 || s.usable));
  const candidates = upperWorks && !lifeless ? upper : free;
  return candidates.sort((a, b) => a.tier - b.tier || a.active - b.active);
}
