/**
 * Decides which collected bytes are written next. Connections collect received bytes, because few
 * large writes cost less than many small ones; but collected bytes are lost if the process is
 * killed. Their sum over all connections is bounded, however many connections there are.
 */

import type { Millis } from '../../base/clock.ts';

/** Bytes that all connections of a download collect before the largest collection is written. */
export const MAX_COLLECTED_BYTES = 256 * 1024;
/**
 * Milliseconds for which bytes are collected in any case. On a fast line more than
 * `MAX_COLLECTED_BYTES` arrive in that time: there a kill costs what arrives in that time, and
 * writes stay large.
 */
export const COLLECT_AT_LEAST_MS = 8;

interface Collection {
  bytes: number;
  readonly since: Millis;
}

/** Sums up the collected bytes of connections of type `C`. */
export class CollectedBytes<C> {
  readonly #collections = new Map<C, Collection>();
  #bytes = 0;

  /** Collected bytes of all connections. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Notes bytes that a connection has collected.
   *
   * @returns the connections whose collections are to be written now; they count as taken
   */
  add(connection: C, bytes: number, now: Millis): readonly C[] {
    const collection = this.#collections.get(connection);
    if (collection === undefined) this.#collections.set(connection, { bytes, since: now });
    else collection.bytes += bytes;
    this.#bytes += bytes;
    if (this.#bytes <= MAX_COLLECTED_BYTES) return [];
    const taken: C[] = [];
    while (this.#bytes > MAX_COLLECTED_BYTES) {
      const largest = this.#largest(now);
      if (largest === undefined) break;
      this.take(largest);
      taken.push(largest);
    }
    return taken;
  }

  /** Notes that all collected bytes of a connection are being written. */
  take(connection: C): void {
    this.#bytes -= this.#collections.get(connection)?.bytes ?? 0;
    this.#collections.delete(connection);
  }

  /** Returns the connection with the largest collection that is old enough. */
  #largest(now: Millis): C | undefined {
    let largest: C | undefined;
    let most = 0;
    for (const [connection, { bytes, since }] of this.#collections) {
      if (bytes <= most || now - since < COLLECT_AT_LEAST_MS) continue;
      largest = connection;
      most = bytes;
    }
    return largest;
  }
}
