/** What the process takes of memory, by the system and V8. */

import { getHeapStatistics } from 'node:v8';
import type { Witness } from '@millrace/shared/cdn/admission/memory-account';

/** Reserve for V8's young generation, which grows with the first requests. */
const YOUNG_BYTES = 32 * 1024 * 1024;

/** Memory of the program itself, bytes. Measured: call it once, before requests come. */
export function programBytes(): number {
  return process.memoryUsage.rss() + YOUNG_BYTES;
}

/** What the system and V8 say of this process now. Costs some tens of microseconds. */
export function witness(): Witness {
  const { used_heap_size, heap_size_limit } = getHeapStatistics();
  return {
    residentBytes: process.memoryUsage.rss(),
    heapBytes: used_heap_size,
    heapLimitBytes: heap_size_limit,
  };
}
