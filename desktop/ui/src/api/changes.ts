/** Changes of what the daemon keeps, one after another. */

export class Changes {
  #last: Promise<unknown> = Promise.resolve();

  /**
   * Makes a change once the earlier ones have ended, also those that failed. A change that follows
   * from the present value reads that value in its turn: of two quick ones that had begun with the
   * same value, the second would undo the first.
   *
   * @param change calls the daemon, and shows what it answers
   * @returns what the change returns
   * @throws what the change throws
   */
  inTurn<T>(change: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(change);
    this.#last = turn.catch(() => undefined);
    return turn;
  }
}
