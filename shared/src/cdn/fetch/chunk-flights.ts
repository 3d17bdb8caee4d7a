/**
 * Lets requests for one chunk share one fetch on a node (NSDI 5.3).
 *
 * There are two kinds of fetches. A node's own comes from its disk or the origin, and waits for no
 * other node. Forwarded ones go through other nodes, one per number of hops and salt. A request
 * never waits
 * for a forwarded fetch with fewer hops, so that nodes with different views cannot wait for each
 * other in a circle. Nor does a request with a salt wait for one with another: it was sent because
 * the node that the other waits for is late.
 */

import type { Millis } from '../../base/clock.ts';
import { SingleFlight } from '../../base/single-flight.ts';
import type { Route } from '../routing/route.ts';
import type { CompetingFetch, Loan } from './competing-fetch.ts';

/** How a request has come, as far as it decides which fetch the request joins. */
export interface FlightPath {
  /** How often the request has been forwarded. */
  readonly hops: number;
  /** Letters that an earlier node has added to the chunk's name (`retrySalt`). */
  readonly salt: string;
}

/** The part of a fetch that does not depend on the type of its result. */
type UnderWay = Pick<CompetingFetch<Loan>, 'hedge' | 'progressAt' | 'share'>;

/** Ways to get a chunk that is not here. */
export interface Ways<N, T> {
  /** Route to the chunk; undefined if there are no other nodes. */
  route(): Route<N> | undefined;
  /** Fetches it through another node, until all callers that wait for it have left. */
  forward(route: Route<N> & { readonly to: 'peer' }, signal: AbortSignal): Promise<T>;
  /** Fetches it from this node's disk or the origin. */
  own(signal: AbortSignal): Promise<T>;
}

export class ChunkFlights<T> {
  readonly #flights = new SingleFlight<string, T>();
  readonly #fetches = new Map<string, UnderWay>();

  /** Returns true while this node's own fetch of the chunk is under way. */
  hasOwn(key: string): boolean {
    return this.#flights.has(own(key));
  }

  /**
   * Gets a chunk, or joins a fetch of it.
   *
   * @param key name of the chunk, which a purge changes
   * @param signal the caller's; it cancels the fetch only if no other caller waits for it
   */
  get<N>(key: string, path: FlightPath, signal: AbortSignal, ways: Ways<N, T>) {
    if (!this.hasOwn(key)) {
      const route = ways.route();
      if (route?.to === 'peer') {
        return this.#flights.run(byPath(key, path), signal, (all) => ways.forward(route, all));
      }
    }
    return this.own(key, signal, ways.own);
  }

  /** Gets a chunk by this node's own fetch, or joins the one under way. */
  own(key: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>) {
    return this.#flights.run(own(key), signal, work);
  }

  /**
   * Runs a fetch so that callers that wait for its chunk can ask about its progress.
   *
   * @param path undefined for a node's own fetch
   */
  async run<L extends Loan>(
    key: string,
    path: FlightPath | undefined,
    fetch: CompetingFetch<L>,
    signal: AbortSignal,
  ): Promise<L> {
    const name = path === undefined ? own(key) : byPath(key, path);
    this.#fetches.set(name, fetch);
    try {
      return await fetch.run(signal);
    } finally {
      // If all callers have left and a new one has come, the entry belongs to the new fetch.
      if (this.#fetches.get(name) === fetch) this.#fetches.delete(name);
    }
  }

  /** Tells the fetches of a chunk that a caller finds it late. */
  hedge(key: string, path: FlightPath): void {
    for (const fetch of this.#underWay(key, path)) fetch.hedge();
  }

  /** Returns when bytes of a chunk under way last came in. */
  progressAt(key: string, path: FlightPath): Millis | undefined {
    let latest: Millis | undefined;
    for (const { progressAt } of this.#underWay(key, path)) {
      if (progressAt !== undefined) latest = Math.max(latest ?? progressAt, progressAt);
    }
    return latest;
  }

  /** Returns how much of a chunk under way has come, 0 to 1. */
  share(key: string, path: FlightPath): number {
    return Math.max(0, ...this.#underWay(key, path).map((fetch) => fetch.share));
  }

  #underWay(key: string, path: FlightPath): UnderWay[] {
    const fetches = [byPath(key, path), own(key)].map((name) => this.#fetches.get(name));
    return fetches.filter((fetch) => fetch !== undefined);
  }
}

function own(key: string): string {
  return `origin ${key}`;
}

function byPath(key: string, { hops, salt }: FlightPath): string {
  return `${hops}${salt} ${key}`;
}
