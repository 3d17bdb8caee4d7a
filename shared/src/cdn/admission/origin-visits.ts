/**
 * Limits how many different origins each client makes an edge ask over time. An origin that the
 * client has used lately costs nothing; another one costs a token, so that no client can make an
 * edge scan the internet. Memory is bounded, however many clients come.
 */

import type { Millis } from '../../base/clock.ts';
import { TokenBucket } from '../../base/token-bucket.ts';

export interface OriginVisitsOptions {
  /** New origins per minute that one client may use; more than 0. */
  readonly perMinute: number;
  /**
   * New origins that one client may use at once after a pause, and origins remembered per client;
   * at least 1.
   */
  readonly burst: number;
  /** Hashes an origin; unpredictable to clients, so that they cannot find collisions. */
  readonly digest: (origin: string) => number;
  /** Most clients remembered; those without a request for longest are forgotten first. */
  readonly maxClients?: number;
  /** Most origins remembered, of all clients together. */
  readonly maxOrigins?: number;
}

const MAX_CLIENTS = 10_000;
const MAX_ORIGINS = 200_000;
/** Heap that a client takes besides its origins: bucket, set and places in the maps, bytes. */
const CLIENT_BYTES = 500;
/** Heap of a number in a set, with the spare room of the set, bytes. */
const ORIGIN_BYTES = 48;

interface Visitor {
  readonly bucket: TokenBucket;
  /** Digests of origins, the one used last at the end. */
  readonly origins: Set<number>;
}

export class OriginVisits {
  readonly #options: OriginVisitsOptions;
  /** Clients, the latest visitor at the end. */
  readonly #visitors = new Map<string, Visitor>();
  #origins = 0;

  constructor(options: OriginVisitsOptions) {
    this.#options = options;
  }

  /** Weight of everything that is remembered, bytes. */
  get bytes(): number {
    return this.#visitors.size * CLIENT_BYTES + this.#origins * ORIGIN_BYTES;
  }

  /**
   * Charges a client for an origin that is about to be asked.
   *
   * @param client key of the client
   * @param origin scheme, host and port
   * @param now monotonic milliseconds
   * @returns 0 if the origin may be asked, which is remembered; else milliseconds until it may
   */
  visit(client: string, origin: string, now: Millis): Millis {
    const { digest, burst } = this.#options;
    const visitor = this.#visitor(client, now);
    const key = digest(origin);
    if (visitor.origins.delete(key)) {
      visitor.origins.add(key);
      return 0;
    }
    if (!visitor.bucket.tryTake(now)) return visitor.bucket.waitMs(now, 1);
    visitor.origins.add(key);
    this.#origins++;
    if (visitor.origins.size > burst) {
      visitor.origins.delete(visitor.origins.values().next().value as number);
      this.#origins--;
    }
    this.#makeRoom(client);
    return 0;
  }

  #visitor(client: string, now: Millis): Visitor {
    const { perMinute, burst } = this.#options;
    const known = this.#visitors.get(client);
    // Put at the end, so that the map stays in order of time.
    if (known !== undefined) this.#visitors.delete(client);
    const visitor = known ?? {
      bucket: new TokenBucket(perMinute / 60, burst, now),
      origins: new Set(),
    };
    this.#visitors.set(client, visitor);
    return visitor;
  }

  /** @param client never forgotten here, as it has just asked */
  #makeRoom(client: string): void {
    const { maxClients = MAX_CLIENTS, maxOrigins = MAX_ORIGINS } = this.#options;
    while (this.#visitors.size > maxClients || this.#origins > maxOrigins) {
      const [longest, visitor] = this.#visitors.entries().next().value as [string, Visitor];
      if (longest === client) return;
      this.#visitors.delete(longest);
      this.#origins -= visitor.origins.size;
    }
  }
}
