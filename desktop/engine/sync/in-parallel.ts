/** Many things at a time, but not too many, and not too large ones together. */

export interface ParallelLimits<T> {
  readonly atATime: number;
  /** Weight of an item against `budget` while it is worked on; 0 unless given. */
  readonly weight?: (item: T) => number;
  /** How much all that are worked on may take together; one alone may take more. */
  readonly budget?: number;
}

/**
 * Works on all items, beginning in their order.
 *
 * @throws what `work` throws first; others that have begun are waited for
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
