/** The memory tier: least recently used chunks go first, bounded in bytes. */

import type { Chunk } from '../files/chunk.ts';
import { KeepingLru } from './keeping-lru.ts';
import { chunkBytes } from './weights.ts';

export class MemoryCache {
  readonly #chunks: KeepingLru<Chunk> | undefined;
  #dataBytes = 0;

  /**
   * @param maxBytes bound on the weight of the chunks; 0 keeps none
   * @param isPinned true for chunks that are not to be evicted
   * @param taken bytes of the bound that others take at present
   */
  constructor(
    maxBytes: number,
    isPinned: (chunk: Chunk) => boolean = () => false,
    taken: () => number = () => 0,
  ) {
    if (maxBytes === 0) return;
    this.#chunks = new KeepingLru({
      maxSize: () => maxBytes - taken(),
      // Read while the cache uses the chunk: without users it has no data.
      sizeOf: weightOf,
      isKept: (_key, chunk) => isPinned(chunk),
      dispose: (chunk) => {
        this.#dataBytes -= chunk.data.length;
        chunk.release();
      },
    });
  }

  /** Bytes of the chunks' data alone. */
  get dataBytes(): number {
    return this.#dataBytes;
  }

  /** Bytes held: data, keys, versions and bookkeeping. */
  get bytes(): number {
    return this.#chunks?.size ?? 0;
  }

  /** Bytes evicted since the start. */
  get evictedBytes(): number {
    return this.#chunks?.evictedSize ?? 0;
  }

  /** Chunks held. */
  get count(): number {
    return this.#chunks?.count ?? 0;
  }

  /** Returns the chunk, for use at once or after `retain`. */
  get(key: string): Chunk | undefined {
    return this.#chunks?.get(key);
  }

  /** Stores a chunk, becoming a user of it; one larger than the whole cache is not kept. */
  put(chunk: Chunk): void {
    const chunks = this.#chunks;
    if (chunks === undefined || weightOf(chunk) > chunks.maxSize) return;
    // A chunk that is stored again would be disposed of as its own predecessor.
    if (chunks.peek(chunk.key) === chunk) return;
    this.#dataBytes += chunk.data.length;
    chunks.set(chunk.key, chunk.retain());
  }

  delete(key: string): void {
    this.#chunks?.delete(key);
  }

  /** Makes chunks whose pins have ended evictable again. */
  release(): void {
    this.#chunks?.release();
  }

  /** Moves chunks to memory that is kept. @param most chunks to move now: each is copied */
  gather(most: number): void {
    let moved = 0;
    for (const chunk of this.#chunks?.values() ?? []) {
      if (chunk.move() && ++moved === most) return;
    }
  }

  /** Evicts chunks that no longer fit because others take more of the bound. */
  trim(): void {
    this.#chunks?.trim();
  }
}

function weightOf(chunk: Chunk): number {
  return chunk.data.length + chunkBytes(chunk.key, chunk.version);
}
