/** Places that whoever asks first gets: so many for each key, and so many for all together. */

export class KeyedPlaces {
  readonly #each: number;
  readonly #all: number;
  readonly #taken = new Map<string, number>();
  #running = 0;

  /** @param each places of one key @param all places of all together */
  constructor(each: number, all: number) {
    this.#each = each;
    this.#all = all;
  }

  /** Places taken by all together. */
  get running(): number {
    return this.#running;
  }

  /** Returns the number of places that a key has taken. */
  of(key: string): number {
    return this.#taken.get(key) ?? 0;
  }

  /**
   * Takes a place.
   *
   * @returns gives it back, further calls do nothing; undefined if there is none
   */
  take(key: string): (() => void) | undefined {
    const own = this.of(key);
    if (own >= this.#each || this.#running >= this.#all) return undefined;
    this.#taken.set(key, own + 1);
    this.#running++;
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      this.#running--;
      const left = this.of(key) - 1;
      if (left <= 0) this.#taken.delete(key);
      else this.#taken.set(key, left);
    };
  }
}
