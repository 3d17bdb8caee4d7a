/**
 * A cache bounded in size and number that evicts the least recently used entries, but no pinned
 * ones. It asks whether an entry is pinned only when it would evict it, so that pins cost nothing
 * while there is room.
 */

import { LRUCache } from 'lru-cache';

export interface KeepingLruOptions<V> {
  /** Read with every new entry: others may take part of the room at times. */
  readonly maxSize: () => number;
  /** Most entries, whatever their size; unlimited by default. */
  readonly maxCount?: number;
  readonly sizeOf: (value: V, key: string) => number;
  /** True for an entry that must not be evicted now. */
  readonly isKept: (key: string, value: V) => boolean;
  /** Called when an entry has left the cache. @param why `set`: another value has replaced it */
  readonly dispose: (value: V, key: string, why: 'set' | 'gone') => void;
}

export class KeepingLru<V extends {}> {
  readonly #options: KeepingLruOptions<V>;
  readonly #entries: LRUCache<string, V>;
  /** Entries that only a pin has saved from eviction. */
  readonly #kept = new Map<string, V>();
  #keptSize = 0;
  #evictedSize = 0;

  constructor(options: KeepingLruOptions<V>) {
    this.#options = options;
    this.#entries = new LRUCache({
      // This class keeps the bound: the library would evict pinned entries.
      maxSize: Number.MAX_SAFE_INTEGER,
      sizeCalculation: (value, key) => options.sizeOf(value, key),
    });
  }

  /** Size of all entries. */
  get size(): number {
    return this.#entries.calculatedSize + this.#keptSize;
  }

  get count(): number {
    return this.#entries.size + this.#kept.size;
  }

  /** Size of all entries evicted so far. */
  get evictedSize(): number {
    return this.#evictedSize;
  }

  get maxSize(): number {
    return this.#options.maxSize();
  }

  get(key: string): V | undefined {
    return this.#entries.get(key) ?? this.#kept.get(key);
  }

  /** Returns the value, without counting as a use. */
  peek(key: string): V | undefined {
    return this.#entries.peek(key) ?? this.#kept.get(key);
  }

  /** All values, in no particular order, without counting as a use. */
  *values(): Iterable<V> {
    yield* this.#entries.values();
    yield* this.#kept.values();
  }

  set(key: string, value: V): void {
    const before = this.#take(key);
    if (before !== undefined) this.#options.dispose(before, key, 'set');
    if (this.#options.sizeOf(value, key) > this.maxSize)
      return this.#options.dispose(value, key, 'gone');
    this.#entries.set(key, value);
    this.trim();
  }

  delete(key: string): void {
    const value = this.#take(key);
    if (value !== undefined) this.#options.dispose(value, key, 'gone');
  }

  /** Makes entries whose pins have ended evictable again. */
  release(): void {
    for (const [key, value] of this.#kept) {
      if (this.#options.isKept(key, value)) continue;
      this.#take(key);
      this.#entries.set(key, value);
    }
    this.trim();
  }

  /** Evicts entries until the bounds hold. */
  trim(): void {
    const { maxSize } = this;
    const { maxCount = Number.POSITIVE_INFINITY } = this.#options;
    while (this.size > maxSize || this.count > maxCount) {
      const oldest = this.#entries.rkeys().next().value;
      // Only pinned entries are left, which quotas are meant to prevent.
      if (oldest === undefined) return;
      const value = this.#take(oldest) as V;
      if (!this.#options.isKept(oldest, value)) {
        this.#evictedSize += this.#options.sizeOf(value, oldest);
        this.#options.dispose(value, oldest, 'gone');
      } else {
        this.#kept.set(oldest, value);
        this.#keptSize += this.#options.sizeOf(value, oldest);
      }
    }
  }

  #take(key: string): V | undefined {
    const kept = this.#kept.get(key);
    if (kept !== undefined) {
      this.#kept.delete(key);
      this.#keptSize -= this.#options.sizeOf(kept, key);
      return kept;
    }
    const value = this.#entries.peek(key);
    this.#entries.delete(key);
    return value;
  }
}
