/**
 * Limits per client address: requests per second, transfers at once, bytes per second. IPv6
 * clients count by their /64, which is what one subscriber has.
 */

import { MillraceError } from '@millrace/shared/base/errors';
import { TokenBucket } from '@millrace/shared/base/token-bucket';
import ipaddr from 'ipaddr.js';

export interface ClientLimitOptions {
  /** Transfers at once; 0: no limit. */
  readonly transfers: number;
  /** Requests per second, in bursts of up to five seconds' worth; 0: no limit. */
  readonly requestsPerSecond: number;
  /** Bytes per second over all transfers; 0: no limit. */
  readonly bytesPerSecond: number;
}

const BURST_SECONDS = 5;
/** Clients remembered at a time; idle ones go first. */
const MAX_CLIENTS = 100_000;

interface Client {
  transfers: number;
  readonly requests: TokenBucket | undefined;
  readonly bytes: TokenBucket | undefined;
}

/** One client's share, held for the length of a transfer. */
export interface Admission {
  /** Milliseconds to wait before sending more. */
  waitMs(now: number): number;
  /** Counts bytes sent. */
  sent(bytes: number, now: number): void;
  /** Ends the transfer; further calls do nothing. */
  release(): void;
}

export class ClientLimits {
  readonly #o: ClientLimitOptions;
  readonly #clients = new Map<string, Client>();

  constructor(options: ClientLimitOptions) {
    this.#o = options;
  }

  /**
   * Admits a request.
   *
   * @param address the client's IP address
   * @param now milliseconds
   * @throws MillraceError `too-many-requests` or `too-many-transfers`
   */
  admit(address: string, now: number): Admission {
    const client = this.#client(clientKey(address), now);
    if (client.requests?.tryTake(now) === false) {
      const retryAfterMs = client.requests.waitMs(now, 1);
      throw new MillraceError('too-many-requests', '', { retryAfterMs });
    }
    if (this.#o.transfers > 0 && client.transfers >= this.#o.transfers) {
      throw new MillraceError('too-many-transfers', `${client.transfers} are under way`, {
        retryAfterMs: 1000,
      });
    }
    client.transfers++;
    let released = false;
    return {
      waitMs: (at) => client.bytes?.waitMs(at) ?? 0,
      sent: (bytes, at) => client.bytes?.take(bytes, at),
      release: () => {
        if (!released) client.transfers--;
        released = true;
      },
    };
  }

  #client(key: string, now: number): Client {
    const known = this.#clients.get(key);
    if (known !== undefined) return known;
    if (this.#clients.size >= MAX_CLIENTS) this.#forgetIdle(now);
    const rate = this.#o.requestsPerSecond;
    const bytes = this.#o.bytesPerSecond;
    const client: Client = {
      transfers: 0,
      requests: rate > 0 ? new TokenBucket(rate, rate * BURST_SECONDS, now) : undefined,
      bytes: bytes > 0 ? new TokenBucket(bytes, bytes, now) : undefined,
    };
    this.#clients.set(key, client);
    return client;
  }

  #forgetIdle(now: number): void {
    for (const [key, client] of this.#clients) {
      const idle = client.transfers === 0 && client.requests?.full(now) !== false;
      if (idle && client.bytes?.full(now) !== false) this.#clients.delete(key);
    }
  }
}

/** What counts as one client: an address, of IPv6 the /64. */
export function clientKey(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const ip = ipaddr.process(address);
  return ip.kind() === 'ipv4' ? ip.toString() : ip.toByteArray().slice(0, 8).join('.'); // the /64
}
