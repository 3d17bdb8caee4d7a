/**
 * Chooses the source that gets the next free connection (LOCI 3.2.1: a number of threads per
 * server; NSDI: edges stand between clients and origin). Every source takes as many of a
 * download's connections as it stands, and sources of the same tier share them evenly.
 */

/** A source as this decision sees it. */
export interface Seat {
  /** 0: edges and mirrors that share the work; 1: the origin behind edges, only where they fail. */
  readonly tier: 0 | 1;
  /** It may be asked now. */
  readonly usable: boolean;
  /** Requests under way. */
  readonly active: number;
  /** Most requests at a time that it stands. */
  readonly limit: number;
}

/**
 * The sources that the next connection may go to, best first.
 *
 * @param lifeless true if no byte has come for so long that the lower tier should help
 */
export function seatOrder<S extends Seat>(sources: readonly S[], lifeless: boolean): S[] {
  const free = sources.filter((s) => s.usable && s.active < s.limit);
  const upper = free.filter((s) => s.tier === 0);
  const upperWorks = sources.some((s) => s.tier === 0 && (s.active > 0 || s.usable));
  const candidates = upperWorks && !lifeless ? upper : free;
  return candidates.sort((a, b) => a.tier - b.tier || a.active - b.active);
}
