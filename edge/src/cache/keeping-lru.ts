/**
 * A cache bounded in size and number that evicts the least recently used entries, but no pinned
 * ones. It asks whether an entry is pinned only when it would evict it, so that pins cost nothing
 * while there is room.
 *
 * Entries that were asked for since they came are evicted after those that were not (the segmented
 * LRU of Karedla, Love and Wherry, 1994). Otherwise whoever reads many files once, out of malice or
 * because a mirror is being copied, would push out everything that others read again and again.
 */

import { RecencyEntry, RecencyList } from './recency-list.ts';

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
  readonly #entries = new Map<string, RecencyEntry<V>>();
  /** Entries that nobody has asked for yet. */
  readonly #fresh = new RecencyList<V>();
  readonly #used = new RecencyList<V>();
  /** Entries that only a pin has saved from eviction. */
  readonly #kept = new RecencyList<V>();
  #evictedSize = 0;

  constructor(options: KeepingLruOptions<V>) {
    this.#options = options;
  }

  /** Size of all entries. */
  get size(): number {
    return this.#fresh.size + this.#used.size + this.#kept.size;
  }

  get count(): number {
    return this.#entries.size;
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
    const entry = this.#entries.get(key);
    if (entry !== undefined && entry.list !== this.#kept) this.#use(entry);
    return entry?.value;
  }

  /** Returns the value, without counting as a use. */
  peek(key: string): V | undefined {
    return this.#entries.get(key)?.value;
  }

  /** All values, in no particular order, without counting as a use. */
  *values(): Iterable<V> {
    for (const { value } of this.#entries.values()) yield value;
  }

  /** Stores a value. One that replaces another is as recently used as a new one. */
  set(key: string, value: V): void {
    const before = this.#entries.get(key);
    const wasUsed = before?.list === this.#used;
    if (before !== undefined) this.#remove(before, 'set');
    const entry = new RecencyEntry(key, value, this.#options.sizeOf(value, key));
    if (entry.size > this.maxSize) return this.#options.dispose(value, key, 'gone');
    this.#entries.set(key, entry);
    if (wasUsed) this.#use(entry);
    else this.#fresh.add(entry);
    this.trim();
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry !== undefined) this.#remove(entry, 'gone');
  }

  /** Makes entries whose pins have ended evictable again. */
  release(): void {
    let entry = this.#kept.oldest;
    while (entry !== undefined) {
      const { newer } = entry;
      if (!this.#options.isKept(entry.key, entry.value)) this.#fresh.add(entry);
      entry = newer;
    }
    this.trim();
  }

  /** Evicts entries until the bounds hold. */
  trim(): void {
    const { maxSize } = this;
    const { maxCount = Number.POSITIVE_INFINITY } = this.#options;
    while (this.size > maxSize || this.count > maxCount) {
      const entry = this.#next();
      // Only pinned entries are left, which quotas are meant to prevent.
      if (entry === undefined) return;
      if (this.#options.isKept(entry.key, entry.value)) this.#kept.add(entry);
      else {
        this.#evictedSize += entry.size;
        this.#remove(entry, 'gone');
      }
    }
  }

  /** Returns the entry to evict next; undefined if there is none but pinned ones. */
  #next(): RecencyEntry<V> | undefined {
    // The newest entry goes last, or a cache of few entries would not let another one in.
    const { oldest } = this.#fresh;
    return this.#fresh.count > 1 ? oldest : (this.#used.oldest ?? oldest);
  }

  /** Puts an entry among the used ones, of which the oldest may lose that place. */
  #use(entry: RecencyEntry<V>): void {
    const used = this.#used;
    used.add(entry);
    const mostSize = USED_SHARE * this.maxSize;
    const mostCount = USED_SHARE * (this.#options.maxCount ?? Number.POSITIVE_INFINITY);
    while (used.count > 1 && (used.size > mostSize || used.count > mostCount)) {
      this.#fresh.add(used.oldest as RecencyEntry<V>);
    }
  }

  #remove(entry: RecencyEntry<V>, why: 'set' | 'gone'): void {
    this.#entries.delete(entry.key);
    entry.list?.remove(entry);
    this.#options.dispose(entry.value, entry.key, why);
  }
}
