/**
 * Bounds V8's young generation, in which every new object is made. V8 lets it grow to 64 MiB when
 * much of it survives, and keeps all of that resident; a request costs about as much in a fourth.
 */

import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** Bytes at which it stops to grow, and below which it may grow again. */
export const YOUNG_BYTES = 16 * 1024 * 1024;
const SMALL_YOUNG_BYTES = YOUNG_BYTES / 2;
/** V8's factor when it lets the young generation grow. */
const GROWTH_FACTOR = 2;

/**
 * Begins to bound it. V8 takes a bound of bytes only when a process starts, but heeds a change of
 * the growth factor at any time; so its size is looked at after each collection, the only time at
 * which it grows.
 *
 * @returns to call to end it
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

/** @returns bytes that V8 holds for it, in use or not */
export function youngBytes(): number {
  return (
    getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? 0
  );
}

function grow(factor: number): void {
  setFlagsFromString(`--semi-space-growth-factor=${factor}`);
}
