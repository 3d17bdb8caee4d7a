/**
 * A cache bounded in size and number that evicts the least recently used entries, but no pinned
 * ones. It asks whether an entry is pinned only when it would evict it, so that pins cost nothing
 * while there is room.
 *
 * Entries that were asked for since they came are evicted after those that were not (the segmented
 * LRU of Karedla, Love and Wherry, 1994). Otherwise whoever reads many files once, out of malice or
 * because a mirror is being copied, would push out everything that others read again and again.
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

/** Share of the room, in size and number, for entries that were asked for since they came. */
const USED_SHARE = 0.8;

export class KeepingLru<V extends {}> {
  readonly #options: KeepingLruOptions<V>;
  /** Entries that nobody has asked for yet. */
  readonly #fresh: LRUCache<string, V>;
  readonly #used: LRUCache<string, V>;
  /** Entries that only a pin has saved from eviction. */
  readonly #kept = new Map<string, V>();
  #keptSize = 0;
  #evictedSize = 0;

  constructor(options: KeepingLruOptions<V>) {
    this.#options = options;
    const endless = () =>
      new LRUCache<string, V>({
        // This class keeps the bound: the library would evict pinned entries.
        maxSize: Number.MAX_SAFE_INTEGER,
        sizeCalculation: (value, key) => options.sizeOf(value, key),
      });
    this.#fresh = endless();
    this.#used = endless();
  }

  /** Size of all entries. */
  get size(): number {
    return this.#fresh.calculatedSize + this.#used.calculatedSize + this.#keptSize;
  }

  get count(): number {
    return this.#fresh.size + this.#used.size + this.#kept.size;
  }

  /** Size of all entries evicted so far. */
  get evictedSize(): number {
    return this.#evictedSize;
  }

  get maxSize(): number {
    return this.#options.maxSize();
  }

  /** Returns the value, and counts that as a use. */
  get(key: string): V | undefined {
    const fresh = this.#fresh.peek(key);
    if (fresh === undefined) return this.#used.get(key) ?? this.#kept.get(key);
    this.#fresh.delete(key);
    this.#use(key, fresh);
    return fresh;
  }

  /** Returns the value, without counting as a use. */
  peek(key: string): V | undefined {
    return this.#fresh.peek(key) ?? this.#used.peek(key) ?? this.#kept.get(key);
  }

  /** All values, in no particular order, without counting as a use. */
  *values(): Iterable<V> {
    yield* this.#fresh.values();
    yield* this.#used.values();
    yield* this.#kept.values();
  }

  /** Stores a value. One that replaces another is as recently used as a new one. */
  set(key: string, value: V): void {
    const wasUsed = this.#used.has(key);
    const before = this.#take(key);
    if (before !== undefined) this.#options.dispose(before, key, 'set');
    if (this.#options.sizeOf(value, key) > this.maxSize)
      return this.#options.dispose(value, key, 'gone');
    if (wasUsed) this.#use(key, value);
    else this.#fresh.set(key, value);
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
      this.#fresh.set(key, value);
    }
    this.trim();
  }

  /** Evicts entries until the bounds hold. */
  trim(): void {
    const { maxSize } = this;
    const { maxCount = Number.POSITIVE_INFINITY } = this.#options;
    while (this.size > maxSize || this.count > maxCount) {
      const oldest = this.#next();
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

  /** Returns the key of the entry to evict next; undefined if there is none but pinned ones. */
  #next(): string | undefined {
    // The newest entry goes last, or a cache of few entries would not let another one in.
    const oldest = this.#fresh.rkeys().next().value as string | undefined;
    if (this.#fresh.size > 1) return oldest;
    return (this.#used.rkeys().next().value as string | undefined) ?? oldest;
  }

  /** Puts an entry among the used ones, of which the oldest may lose that place. */
  #use(key: string, value: V): void {
    const used = this.#used;
    used.set(key, value);
    const mostSize = USED_SHARE * this.maxSize;
    const mostCount = USED_SHARE * (this.#options.maxCount ?? Number.POSITIVE_INFINITY);
    while (used.size > 1 && (used.calculatedSize > mostSize || used.size > mostCount)) {
      const oldest = used.rkeys().next().value as string;
      const its = used.peek(oldest) as V;
      used.delete(oldest);
      this.#fresh.set(oldest, its);
    }
  }

  #take(key: string): V | undefined {
    const kept = this.#kept.get(key);
    if (kept !== undefined) {
      this.#kept.delete(key);
      this.#keptSize -= this.#options.sizeOf(kept, key);
      return kept;
    }
    const segment = this.#fresh.has(key) ? this.#fresh : this.#used;
    const value = segment.peek(key);
    segment.delete(key);
    return value;
  }
}
