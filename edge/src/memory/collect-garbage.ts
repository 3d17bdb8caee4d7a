/**
 * Makes V8 collect its garbage now. It does so by itself when its heap grows, but memory freed by
 * resetting transfers would stay resident for minutes while nothing new is allocated.
 */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

interface Collect {
  (options: { type: 'major'; execution: 'async' }): Promise<void>;
  (options: { type: 'major'; flavor: 'last-resort' }): void;
}

let collect: Collect | undefined;

/** Heap above which V8 is to collect garbage before it has doubled, and below which no more, bytes. */
const LARGE_HEAP_BYTES = 96 * 1024 * 1024;
const SMALL_HEAP_BYTES = 64 * 1024 * 1024;
/** By how much a large heap may grow before it is collected. */
const LARGE_GROWTH_PERCENT = 30;
let isLarge = false;

/**
 * Keeps the share of garbage in a large heap small. V8 lets a heap grow to hundreds of megabytes
 * before it first collects all of it, and then to up to four times its live size. That is cheap
 * where few objects are promoted, as in an edge that delivers large files, but not where strangers
 * make the heap large.
 */
export function boundGarbage(heapBytes: number): void {
  if (isLarge ? heapBytes >= SMALL_HEAP_BYTES : heapBytes <= LARGE_HEAP_BYTES) return;
  isLarge = !isLarge;
  setFlagsFromString(`--heap-growing-percent=${isLarge ? LARGE_GROWTH_PERCENT : 0}`);
  // V8 sets its next bound when it has collected.
  if (isLarge) void collectGarbage();
}

/** Collects the whole heap; it takes the process as long as the heap is large. */
export async function collectGarbage(): Promise<void> {
  await collector()({ type: 'major', execution: 'async' });
}

/**
 * Collects the garbage of loading the program, some 20 MB, and makes the young generation small
 * again. Takes some 30 ms: call it once, before the program listens.
 */
export function collectLoading(): void {
  collector()({ type: 'major', flavor: 'last-resort' });
}

/** V8's collector, which a process has once it is asked for. */
function collector(): Collect {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc') as Collect;
  }
  return collect;
}
