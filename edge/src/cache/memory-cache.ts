/** The memory tier: least recently used chunks go first, bounded in bytes. */

import { LRUCache } from 'lru-cache';
import type { Chunk } from './chunk.ts';

/** What a chunk costs besides its data: key, objects, the list's own entries. */
const OVERHEAD_BYTES = 1024;

export class MemoryCache {
  readonly #chunks: LRUCache<string, Chunk> | undefined;

  /** @param maxBytes bound on the data held; 0 keeps nothing */
  constructor(maxBytes: number) {
    if (maxBytes === 0) return;
    this.#chunks = new LRUCache({
      maxSize: maxBytes,
      sizeCalculation: (chunk) => chunk.data.length + OVERHEAD_BYTES,
      dispose: (chunk) => chunk.release(),
    });
  }

  /** Bytes held, overhead included. */
  get bytes(): number {
    return this.#chunks?.calculatedSize ?? 0;
  }

  /** Chunks held. */
  get count(): number {
    return this.#chunks?.size ?? 0;
  }

  /** The chunk, for use at once or after `retain`. */
  get(key: string): Chunk | undefined {
    return this.#chunks?.get(key);
  }

  /** Stores a chunk, becoming a user of it; one larger than the whole cache is not kept. */
  put(chunk: Chunk): void {
    const chunks = this.#chunks;
    if (chunks === undefined || chunk.data.length + OVERHEAD_BYTES > chunks.maxSize) return;
    // Storing what is stored already would dispose of it without a second use to end.
    if (chunks.peek(chunk.key) === chunk) return;
    chunks.set(chunk.key, chunk.retain());
  }

  delete(key: string): void {
    this.#chunks?.delete(key);
  }
}
