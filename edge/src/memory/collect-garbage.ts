/**
 * Makes V8 collect its garbage now. V8 does so by itself when its heap grows, but while nothing new
 * is allocated, memory of transfers that were reset would stay resident for minutes.
 */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

interface Collect {
  (options: { type: 'major'; execution: 'async' }): Promise<void>;
  (options: { type: 'major'; execution: 'sync' }): void;
}

let collect: Collect | undefined;

/** Size of the heap, in bytes, above which V8 must collect garbage before the heap has doubled. */
const LARGE_HEAP_BYTES = 96 * 1024 * 1024;
const SMALL_HEAP_BYTES = 64 * 1024 * 1024;
/** Growth of a large heap after which it is collected, percent. */
const LARGE_GROWTH_PERCENT = 30;
let isLarge = false;

/**
 * Keeps the share of garbage in a large heap small. V8 lets a heap grow to hundreds of megabytes
 * before it first collects all of it, and then to up to four times its live part. That is cheap if
 * little is promoted, as in an edge that delivers large files, but not if strangers make the heap
 * large.
 */
export function boundGarbage(heapBytes: number): void {
  if (isLarge ? heapBytes >= SMALL_HEAP_BYTES : heapBytes <= LARGE_HEAP_BYTES) return;
  isLarge = !isLarge;
  setFlagsFromString(`--heap-growing-percent=${isLarge ? LARGE_GROWTH_PERCENT : 0}`);
  // V8 sets its next bound when it has collected.
  if (isLarge) void collectGarbage();
}

/** Collects the whole heap; takes time in proportion to its size. */
export async function collectGarbage(): Promise<void> {
  await collector()({ type: 'major', execution: 'async' });
}

/**
 * Collects the garbage of loading the program. Takes some 10 ms: call it once, before the program
 * listens. V8's thorough collection would free one megabyte more, in four times as long.
 *
 * The code of functions stays: V8 would drop it as well, with what it knows about them, and an edge
 * of a network then took a fourth more processor time for its requests.
 */
export function collectLoading(): void {
  setFlagsFromString('--no-flush-bytecode');
  collector()({ type: 'major', execution: 'sync' });
  setFlagsFromString('--flush-bytecode');
}

/** Returns V8's collector, which is exposed on first use. */
function collector(): Collect {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc') as Collect;
  }
  return collect;
}
