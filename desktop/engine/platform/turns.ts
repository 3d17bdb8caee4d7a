/** Works through long lists in short turns of the event loop, so that other calls are answered between. */

import { performance } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Longest turn, in milliseconds, besides the last item of it. */
const TURN_MS = 8;
/** Most items of a turn. */
const TURN_ITEMS = 100;

/**
 * Returns what `work` makes of each item, in their order.
 *
 * @param list read as it is worked through, so that each turn reads only its own items
 * @param around runs each turn, such as within one transaction
 * @param clock monotonic milliseconds
 */
export async function inTurns<T, R>(
  list: Iterable<T>,
  work: (item: T, index: number) => R,
  around: (turn: () => void) => void = (turn) => turn(),
  clock: () => number = () => performance.now(),
): Promise<R[]> {
  const made: R[] = [];
  const items = list[Symbol.iterator]();
  let next: IteratorResult<T> | undefined;
  const turn = () => {
    const began = clock();
    const first = made.length;
    next ??= items.next();
    while (next.done !== true) {
      made.push(work(next.value, made.length));
      next = items.next();
      if (made.length - first >= TURN_ITEMS || clock() - began >= TURN_MS) return;
    }
  };
  for (;;) {
    around(turn);
    if (next?.done === true) return made;
    await nextTurn();
  }
}
