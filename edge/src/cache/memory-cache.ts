/**
 * The memory tier: least recently used chunks go first, bounded in bytes. A part of it is for copies
 * of chunks that other nodes keep, and that clients of this one ask for again and again.
 */

import type { Chunk } from '../files/chunk.ts';
import { KeepingLru } from './keeping-lru.ts';
import { chunkBytes } from './weights.ts';

/**
 * Largest share of the memory for copies: all copies of a chunk in a network take room from chunks
 * that only one node keeps.
 */
const COPIES_SHARE = 1 / 4;

export class MemoryCache {
  readonly #chunks: KeepingLru<Chunk> | undefined;
  readonly #copies: KeepingLru<Chunk> | undefined;
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
    const dispose = (chunk: Chunk) => {
      this.#dataBytes -= chunk.data.length;
      chunk.release();
    };
    // Read while the cache uses the chunk: without users it has no data.
    const sizeOf = weightOf;
    const room = () => maxBytes - taken();
    const copies = new KeepingLru<Chunk>({
      maxSize: () => room() * COPIES_SHARE,
      sizeOf,
      isKept: () => false,
      dispose,
    });
    this.#copies = copies;
    this.#chunks = new KeepingLru({
      maxSize: () => room() - copies.size,
      sizeOf,
      isKept: (_key, chunk) => isPinned(chunk),
      dispose,
    });
  }

  /** Bytes of the chunks' data alone. */
  get dataBytes(): number {
    return this.#dataBytes;
  }

  /** Bytes held: data, keys, versions and bookkeeping. */
  get bytes(): number {
    return (this.#chunks?.size ?? 0) + (this.#copies?.size ?? 0);
  }

  /** Bytes evicted since the start. */
  get evictedBytes(): number {
    return (this.#chunks?.evictedSize ?? 0) + (this.#copies?.evictedSize ?? 0);
  }

  /** Chunks held, without copies. */
  get count(): number {
    return this.#chunks?.count ?? 0;
  }

  /** Copies held, of chunks that other nodes keep. */
  get copies(): number {
    return this.#copies?.count ?? 0;
  }

  /** Room for copies, in bytes of weight. */
  get roomForCopies(): number {
    return this.#copies?.maxSize ?? 0;
  }

  /** Returns the chunk, for use at once or after `retain`. */
  get(key: string): Chunk | undefined {
    return this.#chunks?.get(key) ?? this.#copies?.get(key);
  }

  /** Stores a chunk, becoming a user of it; one larger than the whole cache is not kept. */
  put(chunk: Chunk): void {
    this.#copies?.delete(chunk.key);
    this.#keep(this.#chunks, chunk);
  }

  /** Stores a copy of a chunk that another node keeps; otherwise as `put`. */
  putCopy(chunk: Chunk): void {
    if (this.#chunks?.peek(chunk.key) !== undefined) return;
    this.#keep(this.#copies, chunk);
    this.#chunks?.trim();
  }

  #keep(chunks: KeepingLru<Chunk> | undefined, chunk: Chunk): void {
    if (chunks === undefined || weightOf(chunk) > chunks.maxSize) return;
    // A chunk that is stored again would be disposed of as its own predecessor.
    if (chunks.peek(chunk.key) === chunk) return;
    this.#dataBytes += chunk.data.length;
    chunks.set(chunk.key, chunk.retain());
  }

  delete(key: string): void {
    this.#chunks?.delete(key);
    this.#copies?.delete(key);
  }

  /** Makes chunks whose pins have ended evictable again. */
  release(): void {
    this.#chunks?.release();
  }

  /** Moves chunks to memory that is kept. @param most chunks to move now: each is copied */
  gather(most: number): void {
    let moved = 0;
    for (const chunk of this.#all()) {
      if (chunk.move() && ++moved === most) return;
    }
  }

  /** Evicts chunks that no longer fit because others take more of the bound. */
  trim(): void {
    this.#copies?.trim();
    this.#chunks?.trim();
  }

  *#all(): Iterable<Chunk> {
    yield* this.#chunks?.values() ?? [];
    yield* this.#copies?.values() ?? [];
  }
}

function weightOf(chunk: Chunk): number {
  return chunk.data.length + chunkBytes(chunk.key, chunk.version);
}
