/** Memory of the process, by the system and V8. */

import { getHeapStatistics } from 'node:v8';
import type { Witness } from '@millrace/shared/cdn/admission/memory-account';
import { YOUNG_BYTES, youngBytes } from '@millrace/shared/node/memory/young-generation';

/**
 * Returns the memory of the program itself, bytes, with the later size of its young generation.
 * Measured: call it once, before requests come.
 */
export function programBytes(): number {
  return process.memoryUsage.rss() - youngBytes() + YOUNG_BYTES;
}

/** Reads the memory of this process from the system and V8. Costs some tens of microseconds. */
export function witness(): Witness {
  const { used_heap_size, heap_size_limit } = getHeapStatistics();
  return {
    residentBytes: process.memoryUsage.rss(),
    heapBytes: used_heap_size,
    heapLimitBytes: heap_size_limit,
  };
}
