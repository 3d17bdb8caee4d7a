/**
 * Bounds V8's young generation, in which every new object is made. V8 lets it grow to 64 MiB when
 * much of it survives, and keeps all of that resident; with a quarter of that, requests and downloads
 * cost about as much.
 */

import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** Bytes at which it stops growing, and below which it may grow again. */
export const YOUNG_BYTES = 16 * 1024 * 1024;
const SMALL_YOUNG_BYTES = YOUNG_BYTES / 2;
/** V8's factor when it lets the young generation grow. */
const GROWTH_FACTOR = 2;

/**
 * Begins to bound the young generation. V8 takes a bound of bytes only when a process starts, but
 * heeds a change of the growth factor at any time. So the size of the young generation is checked
 * after each collection, the only time at which it grows.
 *
 * @returns a function that ends the bound
 */
export function boundYoungGeneration(): () => void {
  let isLarge = false;
  const observer = new PerformanceObserver(() => {
    const bytes = youngBytes();
    if (isLarge ? bytes >= SMALL_YOUNG_BYTES : bytes < YOUNG_BYTES) return;
    isLarge = !isLarge;
    grow(isLarge ? 1 : GROWTH_FACTOR);
  });
  observer.observe({ entryTypes: ['gc'] });
  return () => {
    observer.disconnect();
    grow(GROWTH_FACTOR);
  };
}

/**
 * Reads the size of the young generation.
 *
 * @returns bytes that V8 holds for the young generation, in use or not
 */
export function youngBytes(): number {
  return (
    getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? 0
  );
}

function grow(factor: number): void {
  setFlagsFromString(`--semi-space-growth-factor=${factor}`);
}
