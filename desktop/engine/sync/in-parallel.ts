/** Runs work in parallel, limited by number and total weight. */

export interface ParallelLimits<T> {
  readonly atATime: number;
  /** Weight of an item against `budget` while work on it is under way; default 0. */
  readonly weight?: (item: T) => number;
  /** Largest total weight of the work under way; a single item may exceed it. */
  readonly budget?: number;
}

/**
 * Works on all items, and begins them in order.
 *
 * @throws the first error of `work`, after all begun work has ended
 */
export async function inParallel<T>(
  items: readonly T[],
  { atATime, weight = () => 0, budget = Number.POSITIVE_INFINITY }: ParallelLimits<T>,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const running = new Set<Promise<void>>();
  let taken = 0;
  let failure: { error: unknown } | undefined;
  for (const item of items) {
    const needs = weight(item);
    while (running.size >= atATime || (running.size > 0 && taken + needs > budget)) {
      await Promise.race(running);
    }
    if (failure !== undefined) break;
    taken += needs;
    const one: Promise<void> = work(item)
      .catch((error: unknown) => {
        failure ??= { error };
      })
      .finally(() => {
        taken -= needs;
        running.delete(one);
      });
    running.add(one);
  }
  await Promise.all(running);
  if (failure !== undefined) throw failure.error;
}
