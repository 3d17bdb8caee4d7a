/**
 * Requests for the edge's own pages and endpoints, per client. They cost little each, but some of
 * them make every process of the edge collect its figures.
 */

import type { IncomingMessage } from 'node:http';
import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { TokenBucket } from '@millrace/shared/base/token-bucket';
import type { ClientAddress } from '@millrace/shared/node/clients/client-address';
import { clientKey } from '@millrace/shared/node/clients/client-key';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import type { OnRefusal } from '../admission/admissions.ts';
import { isNodePath } from '../peers/node-requests.ts';

export interface OwnRequestsOptions {
  /** Requests per second and client, in bursts of up to five seconds' worth; 0: no limit. */
  readonly perSecond: number;
  readonly clientAddress: ClientAddress;
  readonly onRefusal: OnRefusal;
}

const BURST_SECONDS = 5;
/** Most clients remembered; the least recent ones are forgotten. */
const MAX_CLIENTS = 10_000;
const HEALTH_PATHS: ReadonlySet<string> = new Set(['/-/live', '/-/ready']);

export class OwnRequests {
  readonly #options: OwnRequestsOptions;
  readonly #buckets = new LRUCache<string, TokenBucket>({ max: MAX_CLIENTS });

  constructor(options: OwnRequestsOptions) {
    this.#options = options;
  }

  /**
   * Admits a request.
   *
   * @param req as it came, with the connection's address
   * @param isAdmin whether it has the token of the administrators
   * @param now monotonic milliseconds
   * @throws MillraceError `too-many-requests`
   */
  admit(
    req: Pick<IncomingMessage, 'headers' | 'url' | 'socket'>,
    isAdmin: boolean,
    now: Millis,
  ): void {
    const { perSecond, clientAddress, onRefusal } = this.#options;
    const { url = '', headers, socket } = req;
    // Other nodes sign theirs, which their handlers check.
    if (perSecond === 0 || isAdmin || isNodePath(url)) return;
    const client = clientAddress.of(socket.remoteAddress, headers);
    if (HEALTH_PATHS.has(url) && (isLoopback(client) || clientAddress.isProxy(client))) return;
    const key = clientKey(client);
    let bucket = this.#buckets.get(key);
    if (bucket === undefined) {
      bucket = new TokenBucket(perSecond, perSecond * BURST_SECONDS, now);
      this.#buckets.set(key, bucket);
    }
    if (bucket.tryTake(now)) return;
    onRefusal('ownRequests', 'refused', key);
    throw new MillraceError('too-many-requests', '', { retryAfterMs: bucket.waitMs(now, 1) });
  }
}

function isLoopback(address: string): boolean {
  return ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback';
}
