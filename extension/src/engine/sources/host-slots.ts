/**
 * The connections of all downloads of the engine. A new download has its share at once: others end
 * requests for it, whose bytes stay, and continue with fewer.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { ConnectionSlots } from '@millrace/shared/download/queue/connection-slots';

/**
 * Connections to one host at a time, over all downloads. Browsers have six per host; one is left to
 * the browser's own download, which is still open while it is handed over.
 */
export const MAX_PER_HOST = 5;
/** Connections at a time, to all hosts. Behind a proxy Chromium has 32 for everything. */
export const MAX_CONNECTIONS = 24;

/** A holder of connections: a download, or the proof of one. */
export interface SlotHolder {
  /** `count` connections to a host have to end now, including those that are already ending. */
  giveBack(host: string, count: number): void;
  /** There is room for a connection more. */
  onRoom(): void;
}

export class HostSlots {
  readonly #slots = new ConnectionSlots<SlotHolder>({
    perHost: MAX_PER_HOST,
    total: MAX_CONNECTIONS,
  });
  readonly #now: () => Millis;
  #settling = false;

  /** @param now monotonic milliseconds */
  constructor(now: () => Millis) {
    this.#now = now;
  }

  /** @param wanted connections that it could use at a time, including those it has */
  claim(holder: SlotHolder, host: string, wanted: number): void {
    if (this.#slots.claim(holder, host, wanted, this.#now())) this.#settleSoon();
  }

  /** True where others have all connections that it could use. */
  isCrowdedOut(holder: SlotHolder, host: string): boolean {
    return this.#slots.isCrowdedOut(holder, host);
  }

  room(holder: SlotHolder, host: string): number {
    return this.#slots.room(holder, host);
  }

  /** @returns false where there is no room */
  take(holder: SlotHolder, host: string): boolean {
    return this.#slots.take(holder, host);
  }

  release(holder: SlotHolder, host: string): void {
    this.#slots.release(holder, host, this.#now());
    this.#settleSoon();
  }

  /** It has ended, and its connections with it. */
  leave(holder: SlotHolder): void {
    this.#slots.leave(holder, this.#now());
    this.#settleSoon();
  }

  /** To be called every second or so: where there are more downloads than connections, they take turns. */
  tick(): void {
    if (this.#slots.takesTurns) this.#settleSoon();
  }

  /**
   * Does something that takes one connection, as soon as there is one for it.
   *
   * @throws the signal's reason; the error of the work
   */
  async use<T>(host: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const holder = await this.#one(host, signal);
    try {
      return await work();
    } finally {
      this.leave(holder);
    }
  }

  /** Waits for one connection. @returns its owner */
  #one(host: string, signal: AbortSignal): Promise<SlotHolder> {
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.leave(holder);
        reject(signal.reason);
      };
      const holder: SlotHolder = {
        // A holder of one connection is short: it is let end.
        giveBack: () => {},
        onRoom: () => {
          if (!this.take(holder, host)) return;
          signal.removeEventListener('abort', onAbort);
          resolve(holder);
        },
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.claim(holder, host, 1);
      holder.onRoom();
    });
  }

  #settleSoon(): void {
    if (this.#settling) return;
    this.#settling = true;
    queueMicrotask(() => {
      this.#settling = false;
      for (const { key, host, count } of this.#slots.excess(this.#now())) key.giveBack(host, count);
      for (const holder of this.#slots.withRoom) holder.onRoom();
    });
  }
}
