/** Chooses a depot for an extent that another one has failed to store. */

import { rangeBytes } from '../../base/byte-range.ts';
import type { PlannedExtent } from './spread.ts';

/**
 * Chooses the depot with the fewest bytes, of those that do not have an extent.
 *
 * @param tasks what depots have, or are to get
 * @param depots that can be used
 * @returns undefined if all of them have it
 */
export function depotWithFewest(
  tasks: Iterable<{ readonly extent: PlannedExtent; readonly depot: number }>,
  extent: PlannedExtent,
  depots: readonly number[],
): number | undefined {
  const bytes = new Map(depots.map((depot) => [depot, 0]));
  for (const task of tasks) {
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
