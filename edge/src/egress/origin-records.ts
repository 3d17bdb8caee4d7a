/** What this node remembers of the origins it has lately talked to. */

import { OriginPause } from '@millrace/shared/cdn/origin-pause';
import { RetryTimer } from '@millrace/shared/cdn/retry-timer';
import { LRUCache } from 'lru-cache';

const MAX_RECORDS = 10_000;

export class OriginRecords {
  readonly #timers = new LRUCache<string, RetryTimer>({ max: MAX_RECORDS });
  readonly #pauses = new LRUCache<string, OriginPause>({ max: MAX_RECORDS });

  /** How long chunks from the URL's host and port take. */
  timer(url: URL): RetryTimer {
    return remembered(this.#timers, url.host, () => new RetryTimer());
  }

  /** Whether the origin wants to be left alone about the URL. */
  pause(url: URL): OriginPause {
    return remembered(this.#pauses, url.href, () => new OriginPause());
  }
}

function remembered<T extends object>(cache: LRUCache<string, T>, key: string, make: () => T): T {
  const known = cache.get(key);
  if (known !== undefined) return known;
  const value = make();
  cache.set(key, value);
  return value;
}
