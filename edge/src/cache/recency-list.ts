/** Entries by use, from the one that was used longest ago to the newest, with the sum of their sizes. */

/** An entry of one list at a time, which links it to its neighbours. */
export class RecencyEntry<V> {
  readonly key: string;
  readonly value: V;
  readonly size: number;
  list: RecencyList<V> | undefined;
  older: RecencyEntry<V> | undefined;
  newer: RecencyEntry<V> | undefined;

  constructor(key: string, value: V, size: number) {
    this.key = key;
    this.value = value;
    this.size = size;
    // Set here, or the entries of a large cache would not be of one hidden class.
    this.list = undefined;
    this.older = undefined;
    this.newer = undefined;
  }
}

export class RecencyList<V> {
  #oldest: RecencyEntry<V> | undefined;
  #newest: RecencyEntry<V> | undefined;
  #count = 0;
  #size = 0;

  get count(): number {
    return this.#count;
  }

  /** Sum of the entries' sizes. */
  get size(): number {
    return this.#size;
  }

  /** The entry that was used longest ago. */
  get oldest(): RecencyEntry<V> | undefined {
    return this.#oldest;
  }

  /** Makes an entry the newest of this list, whichever list it was in before. */
  add(entry: RecencyEntry<V>): void {
    if (this.#newest === entry) return;
    entry.list?.remove(entry);
    entry.list = this;
    entry.older = this.#newest;
    if (this.#newest === undefined) this.#oldest = entry;
    else this.#newest.newer = entry;
    this.#newest = entry;
    this.#count++;
    this.#size += entry.size;
  }

  /** Takes an entry of this list out. */
  remove(entry: RecencyEntry<V>): void {
    const { older, newer } = entry;
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
    entry.list = undefined;
    entry.older = undefined;
    entry.newer = undefined;
    this.#count--;
    this.#size -= entry.size;
  }
}
