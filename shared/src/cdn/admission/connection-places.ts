/**
 * Decides which connection makes room when all places are taken. A new connection takes the place
 * of an idle one: the longest idle connection of the client that has most. If every connection is
 * in use, the client that has most loses its newest one, provided that it has more than its share
 * and more than the newcomer would have; else the new connection is turned away.
 */

import { CountRanking } from '../figures/count-ranking.ts';

export interface ConnectionPlacesOptions {
  /** Most connections at a time. */
  readonly max: number;
  /**
   * Connections that one client keeps while they are in use, whatever other clients want; an equal
   * part of all if that is less, so that a few clients cannot keep all others out.
   */
  readonly share: number;
}

/** A connection that has to be closed. It has lost its place already. */
export interface Displaced<C> {
  readonly connection: C;
  /** The client that it belongs to; undefined if it counts for no client. */
  readonly client: string | undefined;
  /** True if a request is under way on it. */
  readonly inUse: boolean;
}

interface Holder<C> {
  readonly client: string;
  /** Connections without a request, the longest idle first. */
  readonly idle: Set<C>;
  /** Connections with requests, the newest use last. */
  readonly busy: Set<C>;
}

interface Place<C> {
  /** Undefined for a trusted client, which never has to make room. */
  holder: Holder<C> | undefined;
  requests: number;
}

export class ConnectionPlaces<C> {
  readonly #options: ConnectionPlacesOptions;
  readonly #places = new Map<C, Place<C>>();
  readonly #holders = new Map<string, Holder<C>>();
  readonly #all = new CountRanking<Holder<C>>();
  readonly #withIdle = new CountRanking<Holder<C>>();

  constructor(options: ConnectionPlacesOptions) {
    this.#options = options;
  }

  /** Connections that have a place. */
  get size(): number {
    return this.#places.size;
  }

  /** Returns true if a connection has a place. */
  has(connection: C): boolean {
    return this.#places.has(connection);
  }

  /** Clients that hold connections. */
  get clients(): number {
    return this.#holders.size;
  }

  /**
   * Takes a new connection, on which no request is under way yet.
   *
   * @param client key of the client; undefined for a trusted one, which never has to make room
   * @returns the connection to close for it, perhaps the new one itself
   */
  add(connection: C, client: string | undefined): Displaced<C> | undefined {
    let displaced: Displaced<C> | undefined;
    if (this.#places.size >= this.#options.max) {
      displaced = this.#makeRoom(client);
      if (displaced === undefined) return { connection, client, inUse: false };
    }
    const holder = client === undefined ? undefined : this.#holder(client);
    this.#places.set(connection, { holder, requests: 0 });
    holder?.idle.add(connection);
    if (holder !== undefined) this.#rank(holder);
    return displaced;
  }

  /** A request has come on a connection. Several can be under way. */
  begin(connection: C): void {
    const place = this.#places.get(connection);
    if (place === undefined || ++place.requests > 1) return;
    this.#move(connection, place.holder, 'busy');
  }

  /** A request has been answered, or given up. */
  end(connection: C): void {
    const place = this.#places.get(connection);
    if (place === undefined || --place.requests > 0) return;
    this.#move(connection, place.holder, 'idle');
  }

  /** The client of this connection has turned out to be trusted. */
  trust(connection: C): void {
    const place = this.#places.get(connection);
    if (place?.holder === undefined) return;
    this.#leave(connection, place.holder);
    place.holder = undefined;
  }

  /** The connection is closed. */
  delete(connection: C): void {
    const place = this.#places.get(connection);
    if (!this.#places.delete(connection) || place?.holder === undefined) return;
    this.#leave(connection, place.holder);
  }

  /** Connections on which no request is under way, except those of trusted clients. */
  *idle(): Iterable<C> {
    for (const { idle } of this.#holders.values()) yield* idle;
  }

  #makeRoom(client: string | undefined): Displaced<C> | undefined {
    const own = client === undefined ? undefined : this.#holders.get(client);
    // Connections of this client, the new one included.
    const wanted = client === undefined ? 0 : count(own) + 1;
    const withIdle = this.#withIdle.most();
    if (own !== undefined && own.idle.size > 0 && wanted >= count(withIdle)) {
      return this.#displace(first(own.idle), own, false);
    }
    const mayTake = wanted <= Math.max(count(withIdle), this.#options.share);
    if (withIdle !== undefined && mayTake) {
      return this.#displace(first(withIdle.idle), withIdle, false);
    }
    const most = this.#all.most();
    const part = Math.ceil(this.#options.max / (this.#holders.size + 1));
    const kept = Math.max(Math.min(this.#options.share, part), wanted);
    if (most === undefined || count(most) <= kept) return undefined;
    return this.#displace(last(most.busy), most, true);
  }

  #displace(
    connection: C | undefined,
    holder: Holder<C>,
    inUse: boolean,
  ): Displaced<C> | undefined {
    if (connection === undefined) return undefined;
    this.delete(connection);
    return { connection, client: holder.client, inUse };
  }

  #move(connection: C, holder: Holder<C> | undefined, to: 'idle' | 'busy'): void {
    if (holder === undefined) return;
    const [from, into] = to === 'busy' ? [holder.idle, holder.busy] : [holder.busy, holder.idle];
    from.delete(connection);
    into.add(connection);
    if (to === 'busy' && holder.idle.size === 0) this.#withIdle.delete(holder);
    if (to === 'idle' && holder.idle.size === 1) this.#withIdle.set(holder, count(holder));
  }

  #leave(connection: C, holder: Holder<C>): void {
    holder.idle.delete(connection);
    holder.busy.delete(connection);
    this.#rank(holder);
  }

  #rank(holder: Holder<C>): void {
    const connections = count(holder);
    if (connections === 0) {
      this.#holders.delete(holder.client);
      this.#all.delete(holder);
      this.#withIdle.delete(holder);
      return;
    }
    this.#all.set(holder, connections);
    if (holder.idle.size > 0) this.#withIdle.set(holder, connections);
    else this.#withIdle.delete(holder);
  }

  #holder(client: string): Holder<C> {
    let holder = this.#holders.get(client);
    if (holder === undefined) {
      holder = { client, idle: new Set(), busy: new Set() };
      this.#holders.set(client, holder);
    }
    return holder;
  }
}

function count(holder: Holder<unknown> | undefined): number {
  return holder === undefined ? 0 : holder.idle.size + holder.busy.size;
}

function first<T>(items: ReadonlySet<T>): T | undefined {
  return items.values().next().value;
}

/** Steps over a few hundred items at most in practice, and only when all places are in use. */
function last<T>(items: ReadonlySet<T>): T | undefined {
  let found: T | undefined;
  for (const item of items) found = item;
  return found;
}
