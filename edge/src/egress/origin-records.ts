/** This node's memory of the origins that it has lately talked to. */

import { ENTRY_BYTES, OBJECT_BYTES, textBytes } from '@millrace/shared/cdn/admission/memory-weight';
import { OriginPause } from '@millrace/shared/cdn/chunks/origin-pause';
import { RetryTimer } from '@millrace/shared/cdn/delivery/retry-timer';
import { LRUCache } from 'lru-cache';

/** Memory for the records of each kind; the least recently used go first. */
const MAX_BYTES = 2 * 1024 * 1024;

export class OriginRecords {
  readonly #timers = recordsBy<RetryTimer>();
  readonly #pauses = recordsBy<OriginPause>();

  /** Memory that the records take, bytes. */
  get bytes(): number {
    return this.#timers.calculatedSize + this.#pauses.calculatedSize;
  }

  /** Record of the time that chunks from the URL's host and port take. */
  timer(url: URL): RetryTimer {
    return remembered(this.#timers, url.host, () => new RetryTimer());
  }

  /** Record of the pause that the origin wants for the URL. */
  pause(url: URL): OriginPause {
    return remembered(this.#pauses, url.href, () => new OriginPause());
  }
}

/** Makes a table of records by host or URL, bounded in bytes. */
function recordsBy<T extends object>(): LRUCache<string, T> {
  return new LRUCache({
    maxSize: MAX_BYTES,
    sizeCalculation: (_record, key) => ENTRY_BYTES + 2 * OBJECT_BYTES + textBytes(key),
  });
}

function remembered<T extends object>(cache: LRUCache<string, T>, key: string, make: () => T): T {
  const known = cache.get(key);
  if (known !== undefined) return known;
  const value = make();
  cache.set(key, value);
  return value;
}
