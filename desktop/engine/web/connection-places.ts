/**
 * Places for connections: some for clients that have shown the token, and a limited share for
 * strangers. Any program on this machine can connect, so a client that has not shown the token
 * makes room for others.
 */

export interface PlaceLimits {
  readonly all: number;
  /** Most connections, among `all`, that have not shown the token. */
  readonly strangers: number;
}

export class ConnectionPlaces<T> {
  readonly #limits: PlaceLimits;
  /** Connections that have not shown the token, oldest first. */
  readonly #strangers = new Set<T>();
  readonly #known = new Set<T>();

  constructor(limits: PlaceLimits) {
    this.#limits = limits;
  }

  /**
   * Adds a connection.
   *
   * @param known whether it has shown the token
   * @returns the connection that must end: the oldest stranger, or the new connection if there is
   *   no stranger; undefined if none must end
   */
  enter(connection: T, known: boolean): T | undefined {
    (known ? this.#known : this.#strangers).add(connection);
    const { all, strangers } = this.#limits;
    const tooMany = this.#strangers.size + this.#known.size > all;
    if (!tooMany && this.#strangers.size <= strangers) return undefined;
    const [oldest = connection] = this.#strangers;
    // Without strangers, `oldest` is the new connection, which gets no place.
    this.leave(oldest);
    return oldest;
  }

  /** Notes that a connection has shown the token. */
  know(connection: T): void {
    if (this.#strangers.delete(connection)) this.#known.add(connection);
  }

  leave(connection: T): void {
    this.#strangers.delete(connection);
    this.#known.delete(connection);
  }
}
