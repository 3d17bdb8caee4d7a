/** Which pages of the list are being read, so that none is read twice for the same reason. */

export class PageReads {
  readonly #running = new Set<string>();
  #round = 0;

  /** From now on, what is being read is out of date: it was asked for before the list changed. */
  outdate(): void {
    this.#round++;
  }

  /**
   * Notes that a page is about to be read.
   *
   * @param query number of the filter, order and words that it is read for
   * @param revision newest revision of the list that is known of
   * @returns to be called once it has been read; undefined if it is being read already
   */
  begin(query: number, offset: number, revision: number): (() => void) | undefined {
    const key = `${query}:${offset}:${revision}:${this.#round}`;
    if (this.#running.has(key)) return undefined;
    this.#running.add(key);
    return () => this.#running.delete(key);
  }
}
