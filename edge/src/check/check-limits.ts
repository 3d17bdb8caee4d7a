/**
 * Bounds on checks, each of which makes the edge ask an origin several times for a stranger: few at
 * a time, few per client, and few per origin for all clients together.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { TokenBucket } from '@millrace/shared/base/token-bucket';
import { clientKey } from '@millrace/shared/node/clients/client-key';
import { LRUCache } from 'lru-cache';
import type { OnRefusal } from '../admission/admissions.ts';
import { MAX_CHECKS_AT_ONCE } from '../admission/resources.ts';

/** Checks per client and second, with a burst: people paste one link after the other. */
const CLIENT_RATE = 0.5;
const CLIENT_BURST = 20;
/** Checks per host of origins and second. */
const ORIGIN_RATE = 0.5;
const ORIGIN_BURST = 30;
/** Most hosts, and most clients, remembered. */
const MAX_REMEMBERED = 10_000;
const BUSY_RETRY_MS = 2000;

export class CheckLimits {
  readonly #onRefusal: OnRefusal | undefined;
  readonly #clients = new LRUCache<string, TokenBucket>({ max: MAX_REMEMBERED });
  readonly #origins = new LRUCache<string, TokenBucket>({ max: MAX_REMEMBERED });
  #running = 0;

  /** @param onRefusal called for checks that are refused */
  constructor(onRefusal?: OnRefusal) {
    this.#onRefusal = onRefusal;
  }

  /** Checks under way. */
  get running(): number {
    return this.#running;
  }

  /**
   * Admits a check.
   *
   * @param client IP address, or the client's key
   * @param now milliseconds
   * @returns a function to call when the check is over
   * @throws MillraceError `too-many-requests`
   */
  admit(client: string, url: URL, now: Millis): () => void {
    if (this.#running >= MAX_CHECKS_AT_ONCE) {
      this.#onRefusal?.('checks', 'refused', client);
      throw new MillraceError('too-many-requests', 'others are being checked', {
        retryAfterMs: BUSY_RETRY_MS,
      });
    }
    const buckets = [
      bucketOf(this.#clients, clientKey(client), CLIENT_RATE, CLIENT_BURST, now),
      bucketOf(this.#origins, url.host, ORIGIN_RATE, ORIGIN_BURST, now),
    ];
    const retryAfterMs = Math.max(...buckets.map((bucket) => bucket.waitMs(now, 1)));
    if (retryAfterMs > 0) {
      this.#onRefusal?.('checks', 'refused', client);
      throw new MillraceError('too-many-requests', '', { retryAfterMs });
    }
    for (const bucket of buckets) bucket.take(1, now);
    this.#running++;
    let over = false;
    return () => {
      if (!over) this.#running--;
      over = true;
    };
  }
}

function bucketOf(
  buckets: LRUCache<string, TokenBucket>,
  key: string,
  rate: number,
  burst: number,
  now: Millis,
): TokenBucket {
  const known = buckets.get(key);
  if (known !== undefined) return known;
  const bucket = new TokenBucket(rate, burst, now);
  buckets.set(key, bucket);
  return bucket;
}
