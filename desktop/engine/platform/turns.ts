/** Works through long lists in short turns of the event loop, so that other calls are answered between. */

import { performance } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Longest turn, in milliseconds, besides the last item of it. */
const TURN_MS = 8;
/** Most items of a turn. */
const TURN_ITEMS = 100;

/** Returns what `work` makes of each item, in their order. */
export async function inTurns<T, R>(
  list: Iterable<T>,
  work: (item: T, index: number) => R,
): Promise<R[]> {
  const made: R[] = [];
  let began = performance.now();
  let first = 0;
  for (const item of list) {
    if (made.length - first >= TURN_ITEMS || performance.now() - began >= TURN_MS) {
      await nextTurn();
      began = performance.now();
      first = made.length;
    }
    made.push(work(item, made.length));
  }
  return made;
}
