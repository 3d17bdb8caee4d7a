/**
 * Ranks items by a count, so that one with the highest is found at once. Counts are small whole
 * numbers that mostly change by one: every change takes constant time, and a search takes as many
 * steps as the highest count has fallen since the last one.
 */

export class CountRanking<T> {
  readonly #counts = new Map<T, number>();
  /** Items by count; items of one count in the order in which they got it. */
  readonly #items = new Map<number, Set<T>>();
  /** Upper bound of all counts. */
  #highest = 0;

  /** Gives an item a count, at least 0; an item without one is added. */
  set(item: T, count: number): void {
    this.delete(item);
    this.#counts.set(item, count);
    let items = this.#items.get(count);
    if (items === undefined) {
      items = new Set();
      this.#items.set(count, items);
    }
    items.add(item);
    this.#highest = Math.max(this.#highest, count);
  }

  /** Takes an item out, if it is there. */
  delete(item: T): void {
    const count = this.#counts.get(item);
    if (count === undefined) return;
    this.#counts.delete(item);
    const items = this.#items.get(count);
    items?.delete(item);
    if (items?.size === 0) this.#items.delete(count);
  }

  /**
   * Returns the item that has had the highest count for longest; undefined if there are no items.
   */
  most(): T | undefined {
    if (this.#counts.size === 0) {
      this.#highest = 0;
      return undefined;
    }
    while (!this.#items.has(this.#highest)) this.#highest--;
    return this.#items.get(this.#highest)?.values().next().value;
  }
}
