/**
 * Bounds how many different origins each client makes an edge ask over time. An origin that the
 * client has used lately costs nothing; another one costs a token, so that no client can scan the
 * internet through an edge. Memory is bounded, however many clients come.
 */

import type { Millis } from '../../base/clock.ts';
import { TokenBucket } from '../../base/token-bucket.ts';

export interface OriginVisitsOptions {
  /** Other origins per minute that one client may go to; more than 0. */
  readonly perMinute: number;
  /**
   * Other origins that it may go to at once, after a pause; at least 1. As many are remembered per
   * client.
   */
  readonly burst: number;
  /**
   * Maps an origin to a number, keyed with a secret: clients cannot find two origins with the same
   * number.
   */
  readonly digest: (origin: string) => number;
  /** Clients remembered at a time; those idle for longest are forgotten. */
  readonly maxClients?: number;
  /** Origins remembered at a time, of all clients together. */
  readonly maxOrigins?: number;
}

const MAX_CLIENTS = 10_000;
const MAX_ORIGINS = 200_000;
/** Heap that a client takes besides its origins: bucket, set and places in the maps, bytes. */
const CLIENT_BYTES = 500;
/** A number in a set, with the room that the set keeps for more. */
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
   * A client is about to have an origin asked.
   *
   * @param client its key
   * @param origin scheme, host and port
   * @param now monotonic milliseconds
   * @returns 0 where the client may use the origin, which is remembered; otherwise milliseconds to
   *   wait
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
    // Put at the end, so that the order of the map is that of time.
    if (known !== undefined) this.#visitors.delete(client);
    const visitor = known ?? {
      bucket: new TokenBucket(perMinute / 60, burst, now),
      origins: new Set(),
    };
    this.#visitors.set(client, visitor);
    return visitor;
  }

  /** @param client the one that has just asked: it stays */
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
