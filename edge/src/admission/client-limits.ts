/**
 * Limits per client address: requests per second, transfers at once, bytes per second, and bytes
 * that origins have to send for the client. IPv6 clients count by their /64: a subscriber has one.
 */

import { MillraceError } from '@millrace/shared/base/errors';
import { TokenBucket } from '@millrace/shared/base/token-bucket';
import { clientKey } from '@millrace/shared/node/clients/client-key';
import type { OnRefusal } from './admissions.ts';

export interface ClientLimitOptions {
  /** Transfers at once; 0: no limit. */
  readonly transfers: number;
  /** Requests per second, in bursts of up to five seconds' worth; 0: no limit. */
  readonly requestsPerSecond: number;
  /** Bytes per second over all transfers; 0: no limit. */
  readonly bytesPerSecond: number;
  readonly amplification?: Amplification;
  /** Called when a client is refused or delayed. */
  readonly onRefusal?: OnRefusal;
}

/**
 * Bounds on bytes that are fetched for a client and not taken by it. A client that asks for single
 * bytes here and there makes an origin send a whole chunk for each: beyond an allowance, which
 * grows again slowly, bytes fetched must be in proportion to bytes taken.
 */
export interface Amplification {
  /** Bytes fetched per byte sent; 0: no limit. */
  readonly ratio: number;
  /** Bytes that may be fetched on top, once, for players that seek and readers of archives. */
  readonly allowance: number;
  /** Bytes by which the allowance grows again, per second. */
  readonly regain: number;
}

const BURST_SECONDS = 5;
/** Clients remembered at a time; idle ones go first. */
const MAX_CLIENTS = 100_000;
/**
 * Clients that stay when some that are not idle have to go: so few that searches of all clients are
 * rare.
 */
const CLIENTS_LEFT = 0.9 * MAX_CLIENTS;

interface Client {
  transfers: number;
  readonly requests: TokenBucket | undefined;
  readonly bytes: TokenBucket | undefined;
  readonly fetches: TokenBucket | undefined;
}

/** One client's share, held for the length of a transfer. */
export interface Admission {
  /** Returns the milliseconds to wait before sending more. */
  waitMs(now: number): number;
  /** Counts bytes sent. */
  sent(bytes: number, now: number): void;
  /** Counts bytes that were fetched because of this transfer. */
  fetched(bytes: number): void;
  /** Ends the transfer; further calls do nothing. */
  release(now: number): void;
}

/** Share of a client that is held to no limits here. */
export const ADMITTED: Admission = { waitMs: () => 0, sent() {}, fetched() {}, release() {} };

export class ClientLimits {
  readonly #options: ClientLimitOptions;
  readonly #clients = new Map<string, Client>();

  constructor(options: ClientLimitOptions) {
    this.#options = options;
  }

  /** Clients that are remembered. */
  get clients(): number {
    return this.#clients.size;
  }

  /** Transfers that a client has under way. */
  transfersOf(address: string): number {
    return this.#clients.get(clientKey(address))?.transfers ?? 0;
  }

  /**
   * Admits a request.
   *
   * @param address the client's IP address
   * @param now milliseconds
   * @throws MillraceError `too-many-requests`, `too-many-transfers` or `too-much-fetched`
   */
  admit(address: string, now: number): Admission {
    const key = clientKey(address);
    const client = this.#client(key, now);
    const { onRefusal } = this.#options;
    if (client.requests?.tryTake(now) === false) {
      const retryAfterMs = client.requests.waitMs(now, 1);
      onRefusal?.('requests', 'refused', key);
      throw new MillraceError('too-many-requests', '', { retryAfterMs });
    }
    if (this.#options.transfers > 0 && client.transfers >= this.#options.transfers) {
      onRefusal?.('transfers', 'refused', key);
      throw new MillraceError('too-many-transfers', `${client.transfers} are under way`, {
        retryAfterMs: 1000,
      });
    }
    const retryAfterMs = client.fetches?.waitMs(now) ?? 0;
    if (retryAfterMs > 0) {
      onRefusal?.('fetched', 'refused', key);
      throw new MillraceError('too-much-fetched', '', { retryAfterMs });
    }
    client.transfers++;
    let [released, delayed, sent, fetched] = [false, false, 0, 0];
    return {
      waitMs: (at) => {
        const wait = client.bytes?.waitMs(at) ?? 0;
        if (wait > 0 && !delayed) onRefusal?.('rate', 'delayed', key);
        delayed ||= wait > 0;
        return wait;
      },
      sent: (bytes, at) => {
        sent += bytes;
        client.bytes?.take(bytes, at);
      },
      fetched: (bytes) => {
        fetched += bytes;
      },
      release: (at) => {
        if (released) return;
        released = true;
        client.transfers--;
        // At the end only: bytes fetched ahead for a running transfer may still be taken.
        client.fetches?.take(fetched - sent * (this.#options.amplification?.ratio ?? 0), at);
      },
    };
  }

  /**
   * Counts bytes that origins have to send for a client on top of those of its transfers.
   *
   * @param key of the client; others than clients with requests so far are left alone
   */
  fetched(key: string, bytes: number, now: number): void {
    this.#clients.get(key)?.fetches?.take(bytes, now);
  }

  #client(key: string, now: number): Client {
    const known = this.#clients.get(key);
    if (known !== undefined) return known;
    if (this.#clients.size >= MAX_CLIENTS) this.#forget(now);
    const rate = this.#options.requestsPerSecond;
    const bytes = this.#options.bytesPerSecond;
    const { ratio, allowance, regain } = this.#options.amplification ?? NO_LIMIT;
    const client: Client = {
      transfers: 0,
      requests: rate > 0 ? new TokenBucket(rate, rate * BURST_SECONDS, now) : undefined,
      bytes: bytes > 0 ? new TokenBucket(bytes, bytes, now) : undefined,
      fetches: ratio > 0 ? new TokenBucket(regain, allowance, now) : undefined,
    };
    this.#clients.set(key, client);
    return client;
  }

  /** Makes room: idle clients go; if they are too few, also the oldest without a transfer. */
  #forget(now: number): void {
    for (const [key, client] of this.#clients) {
      const buckets = [client.requests, client.bytes, client.fetches];
      const idle = client.transfers === 0 && buckets.every((bucket) => bucket?.full(now) !== false);
      if (idle) this.#clients.delete(key);
    }
    for (const [key, client] of this.#clients) {
      if (this.#clients.size <= CLIENTS_LEFT) return;
      if (client.transfers === 0) this.#clients.delete(key);
    }
  }
}

const NO_LIMIT: Amplification = { ratio: 0, allowance: 0, regain: 0 };
