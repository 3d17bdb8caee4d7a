/**
 * Places for connections: for clients that have shown the token, and a separate share for
 * strangers. Any program on this machine can connect; a client that has not identified itself makes
 * room for others.
 */

export interface PlaceLimits {
  readonly all: number;
  /** Most connections among them that have not shown the token. */
  readonly strangers: number;
}

export class ConnectionPlaces<T> {
  readonly #limits: PlaceLimits;
  /** Oldest first. */
  readonly #strangers = new Set<T>();
  readonly #known = new Set<T>();

  constructor(limits: PlaceLimits) {
    this.#limits = limits;
  }

  /**
   * A connection begins.
   *
   * @param known it has shown the token
   * @returns the connection that has to end for it: the oldest stranger, itself where there is no
   *   other; undefined: none
   */
  enter(connection: T, known: boolean): T | undefined {
    (known ? this.#known : this.#strangers).add(connection);
    const { all, strangers } = this.#limits;
    const tooMany = this.#strangers.size + this.#known.size > all;
    if (!tooMany && this.#strangers.size <= strangers) return undefined;
    const [oldest = connection] = this.#strangers;
    // With only known clients no place is free.
    this.leave(oldest);
    return oldest;
  }

  /** It has shown the token. */
  know(connection: T): void {
    if (this.#strangers.delete(connection)) this.#known.add(connection);
  }

  leave(connection: T): void {
    this.#strangers.delete(connection);
    this.#known.delete(connection);
  }
}
