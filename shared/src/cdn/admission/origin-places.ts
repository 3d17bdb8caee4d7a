/**
 * Decides which origins an edge has connections to. Idle origins make room for others, the longest
 * idle one first. One client has at most a share of the origins with requests under way. If all are
 * in use, the client with most is refused, or loses its newest one to a client with fewer.
 */

import type { Millis } from '../../base/clock.ts';
import { CountRanking } from '../figures/count-ranking.ts';

export interface OriginPlacesOptions {
  /** Most origins at a time. */
  readonly max: number;
  /** Most origins that one client may have requests to at a time. */
  readonly share: number;
}

/** A request under way to an origin. */
export interface OriginPlace {
  /** Origin whose idle connections have to be closed for this one. */
  readonly evicted: string | undefined;
  /** Origin whose connections have to be cut off for this one, and the client that loses it. */
  readonly displaced: { readonly origin: string; readonly client: string } | undefined;
  /** True if the origin has since been cut off for another client. */
  readonly lost: boolean;
  /** Ends the request; further calls do nothing. */
  leave(now: Millis): void;
}

interface Origin {
  readonly name: string;
  requests: number;
  /** Requests by client; requests without a client are counted in `requests` alone. */
  readonly clients: Map<Holder, number>;
  idleSince: Millis;
}

interface Holder {
  readonly client: string;
  /** Origins in use, the newest last. */
  readonly origins: Set<Origin>;
}

export class OriginPlaces {
  readonly #options: OriginPlacesOptions;
  readonly #origins = new Map<string, Origin>();
  /** Idle origins, the longest idle first. */
  readonly #idle = new Set<Origin>();
  readonly #holders = new Map<string, Holder>();
  readonly #ranking = new CountRanking<Holder>();

  constructor(options: OriginPlacesOptions) {
    this.#options = options;
  }

  /** Origins with a place, including idle ones. */
  get size(): number {
    return this.#origins.size;
  }

  /** Origins with requests under way. */
  get inUse(): number {
    return this.#origins.size - this.#idle.size;
  }

  /**
   * Takes a place for a request that is about to be sent.
   *
   * @param origin scheme, host and port
   * @param client the client that the request is for; undefined: none in particular
   * @param hasShare false for clients that stand for many others: only displacement bounds them
   * @returns undefined if the client has too many origins in use, or all are in use
   */
  enter(origin: string, client: string | undefined, hasShare = true): OriginPlace | undefined {
    const held = client === undefined ? undefined : this.#holders.get(client);
    const count = held?.origins.size ?? 0;
    const known = this.#origins.get(origin);
    const holdsIt = known !== undefined && held?.origins.has(known) === true;
    if (client !== undefined && hasShare && !holdsIt && count >= this.#options.share)
      return undefined;
    let evicted: string | undefined;
    let displaced: OriginPlace['displaced'];
    if (known === undefined && this.#origins.size >= this.#options.max) {
      const [longest] = this.#idle;
      if (longest === undefined) {
        displaced = this.#displace(client === undefined ? 0 : count + 1);
        if (displaced === undefined) return undefined;
      } else {
        evicted = longest.name;
        this.#idle.delete(longest);
        this.#origins.delete(longest.name);
      }
    }
    const entered = known ?? this.#add(origin);
    const holder = client === undefined ? undefined : this.#holder(client);
    this.#begin(entered, holder);
    const origins = this.#origins;
    let left = false;
    return {
      evicted,
      displaced,
      get lost() {
        return origins.get(origin) !== entered;
      },
      leave: (now) => {
        if (left) return;
        left = true;
        this.#end(entered, holder, now);
      },
    };
  }

  /** Takes out origins that have been idle since before `time`. @returns those to disconnect */
  takeIdle(time: Millis): string[] {
    const taken: string[] = [];
    for (const origin of this.#idle) {
      if (origin.idleSince >= time) break;
      this.#idle.delete(origin);
      this.#origins.delete(origin.name);
      taken.push(origin.name);
    }
    return taken;
  }

  #add(name: string): Origin {
    const origin: Origin = { name, requests: 0, clients: new Map(), idleSince: 0 };
    this.#origins.set(name, origin);
    return origin;
  }

  #holder(client: string): Holder {
    let holder = this.#holders.get(client);
    if (holder === undefined) {
      holder = { client, origins: new Set() };
      this.#holders.set(client, holder);
    }
    return holder;
  }

  #begin(origin: Origin, holder: Holder | undefined): void {
    this.#idle.delete(origin);
    origin.requests++;
    if (holder === undefined) return;
    origin.clients.set(holder, (origin.clients.get(holder) ?? 0) + 1);
    if (holder.origins.has(origin)) return;
    holder.origins.add(origin);
    this.#ranking.set(holder, holder.origins.size);
  }

  #end(origin: Origin, holder: Holder | undefined, now: Millis): void {
    // An origin that was cut off loses its place before its requests end.
    if (this.#origins.get(origin.name) !== origin) return;
    origin.requests--;
    if (holder !== undefined) {
      const requests = (origin.clients.get(holder) ?? 0) - 1;
      if (requests > 0) origin.clients.set(holder, requests);
      else this.#letGo(origin, holder);
    }
    if (origin.requests > 0) return;
    origin.idleSince = now;
    this.#idle.add(origin);
  }

  #letGo(origin: Origin, holder: Holder): void {
    origin.clients.delete(holder);
    holder.origins.delete(origin);
    if (holder.origins.size > 0) {
      this.#ranking.set(holder, holder.origins.size);
      return;
    }
    this.#ranking.delete(holder);
    this.#holders.delete(holder.client);
  }

  /** @param wanted origins that the newcomer will have */
  #displace(wanted: number): OriginPlace['displaced'] {
    const most = this.#ranking.most();
    if (most === undefined || most.origins.size <= wanted) return undefined;
    let newest: Origin | undefined;
    for (const origin of most.origins) {
      if (isOnlyOfMany(origin, wanted)) newest = origin;
    }
    if (newest === undefined) return undefined;
    this.#origins.delete(newest.name);
    for (const holder of [...newest.clients.keys()]) this.#letGo(newest, holder);
    return { origin: newest.name, client: most.client };
  }
}

/**
 * Returns true if all clients that use an origin have more origins than `wanted`: clients with
 * fewer must not lose theirs, and clients with many must not protect each other by using the same
 * ones.
 */
function isOnlyOfMany(origin: Origin, wanted: number): boolean {
  let requests = 0;
  for (const [holder, count] of origin.clients) {
    if (holder.origins.size <= wanted) return false;
    requests += count;
  }
  return requests === origin.requests;
}
