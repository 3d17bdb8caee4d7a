/** The memory tier: least recently used chunks go first, bounded in bytes. */

import type { Chunk } from './chunk.ts';
import { KeepingLru } from './keeping-lru.ts';

/** What a chunk costs besides its data: key, objects, the list's own entries. */
const OVERHEAD_BYTES = 1024;

export class MemoryCache {
  readonly #chunks: KeepingLru<Chunk> | undefined;

  /**
   * @param maxBytes bound on the data held; 0 keeps nothing
   * @param isPinned true for chunks that are not to be evicted
   */
  constructor(maxBytes: number, isPinned: (chunk: Chunk) => boolean = () => false) {
    if (maxBytes === 0) return;
    this.#chunks = new KeepingLru({
      maxSize: maxBytes,
      // Its data are gone once nobody uses it: asked for while it is in.
      sizeOf: (chunk) => chunk.data.length + OVERHEAD_BYTES,
      isKept: (_key, chunk) => isPinned(chunk),
      dispose: (chunk) => chunk.release(),
    });
  }

  /** Bytes held, overhead included. */
  get bytes(): number {
    return this.#chunks?.size ?? 0;
  }

  /** Bytes that have had to go for newer ones since the start. */
  get evictedBytes(): number {
    return this.#chunks?.evictedSize ?? 0;
  }

  /** Chunks held. */
  get count(): number {
    return this.#chunks?.count ?? 0;
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

  /** Pins have ended. */
  release(): void {
    this.#chunks?.release();
  }
}
