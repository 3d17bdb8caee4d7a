/**
 * The line of a queue: ordered by priority, highest first, and by rank within a priority. A place
 * in it is stored as a priority and a rank, so that it survives a restart.
 */

/** An entry with a place in the line. */
export interface Ranked {
  /** Higher first, MIN_PRIORITY to MAX_PRIORITY. */
  priority: number;
  /** Order within a priority, lower first. */
  rank: number;
}

export const MIN_PRIORITY = -100;
export const MAX_PRIORITY = 100;
/** Smallest gap between ranks; closer ones leave no room, and all ranks are renumbered. */
const MIN_GAP = 1e-6;

export class QueueLine<T extends Ranked> {
  readonly #items: T[] = [];
  /** The highest rank so far, by priority. */
  readonly #ranks = new Map<number, number>();

  /** The entries in order. */
  get items(): readonly T[] {
    return this.#items;
  }

  /** @returns the place from 0; -1 for an entry that is not in the line */
  placeOf(item: T): number {
    return this.#items.indexOf(item);
  }

  /** Gives out the next rank of a priority, behind all others. */
  nextRank(priority: number): number {
    const rank = Math.floor(this.#ranks.get(priority) ?? 0) + 1;
    this.#ranks.set(priority, rank);
    return rank;
  }

  /** Notes a rank in use: `nextRank` gives higher ones. */
  noteRank(priority: number, rank: number): void {
    this.#ranks.set(priority, Math.max(rank, this.#ranks.get(priority) ?? rank));
  }

  /** Inserts an entry at the place of its priority and rank. */
  insert(item: T): void {
    let low = 0;
    let high = this.#items.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compare(this.#items[middle] as T, item) <= 0) low = middle + 1;
      else high = middle;
    }
    this.#items.splice(low, 0, item);
  }

  /** @returns false if the entry was not in the line */
  takeOut(item: T): boolean {
    const at = this.placeOf(item);
    if (at >= 0) this.#items.splice(at, 1);
    return at >= 0;
  }

  /**
   * Moves an entry of the line. At a place among entries of another priority it takes on theirs.
   *
   * @param position from 0, inside the line
   * @returns the entries whose priority or rank has changed
   */
  move(item: T, position: number): readonly T[] {
    this.takeOut(item);
    const before = this.#items[position - 1];
    const after = this.#items[position];
    item.priority = clamp(
      item.priority,
      after?.priority ?? MIN_PRIORITY,
      before?.priority ?? MAX_PRIORITY,
    );
    const low = before?.priority === item.priority ? before.rank : undefined;
    const high = after?.priority === item.priority ? after.rank : undefined;
    item.rank = between(low, high);
    this.noteRank(item.priority, item.rank);
    this.#items.splice(position, 0, item);
    const tight = low !== undefined && high !== undefined && high - low < MIN_GAP;
    return tight ? this.#deal() : [item];
  }

  #deal(): readonly T[] {
    this.#items.forEach((item, i) => {
      item.rank = i;
      this.noteRank(item.priority, i);
    });
    return this.#items;
  }
}

function compare(a: Ranked, b: Ranked): number {
  return b.priority - a.priority || a.rank - b.rank;
}

function between(low: number | undefined, high: number | undefined): number {
  if (low === undefined) return high === undefined ? 0 : high - 1;
  return high === undefined ? low + 1 : (low + high) / 2;
}

export function clamp(value: number, min: number, max: number): number {
  return Math.min(max, Math.max(min, value));
}
